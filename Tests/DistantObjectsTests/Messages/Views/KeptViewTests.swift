import DistantObjects
import Synchronization
import TestSupport
import Testing

@Suite("Memory of messages that views keep", .bounded())
struct KeptViewTests {
    /// A connection to a gallery whose views may keep so many bytes.
    private static func visit(
        viewedBytes: Int, ofClient: Int = .max
    ) async throws -> (pair: Pair, served: Gallery, gallery: DistantObject) {
        var (client, server) = (Connection.Configuration.patient, Connection.Configuration.patient)
        client.limits.viewedBytes = ofClient
        server.limits.viewedBytes = viewedBytes
        let pair = try await Pair(client: client, server: server)
        let served = Gallery()
        try pair.server.vend(served, as: "gallery")
        return (pair, served, try await pair.client.root(named: "gallery"))
    }

    /// A message of more than a mebibyte.
    private static func large() -> Bar {
        Bar((0..<12).map { Foo(name: String(repeating: "x", count: 100_000), age: $0) })
    }

    @Test("Views of more than the window for large messages are kept, and calls go on")
    func windowInKeptView() async throws {
        let (pair, served, gallery) = try await Self.visit(viewedBytes: 64 << 20)
        for index in 1...24 { #expect(try await gallery.keep(Self.large()) == index) }
        // Large answers are not delayed, either.
        let back: Bar = try await gallery.give(23)
        #expect(back.foos.count == 12)
        #expect(try served.kept.withLock { try Gallery.sum(of: $0[0]) } == 66)
        await pair.close()
    }

    @Test("Beyond the limit a call is refused, and accepted again when views are freed")
    func limitInKeptView() async throws {
        let (pair, served, gallery) = try await Self.visit(viewedBytes: 4 << 20)
        for index in 1...3 { #expect(try await gallery.keep(Self.large()) == index) }
        do {
            let _: Int = try await gallery.keep(Self.large())
            Issue.record("nothing was thrown")
        } catch let error as ConnectionError {
            #expect(error.code == .overloaded && error.isSafeToRetry, "\(error)")
            #expect(error.message.contains("viewedBytes"), "\(error)")
        }
        #expect(served.kept.withLock { $0.count } == 3)
        // Objects take no part in it, nor does a smaller view.
        #expect(try await gallery.sumOfObjects(Self.large()) == 66)
        #expect(try await gallery.sum(Gallery.bar(10)) == 45)
        try await gallery.letGo()
        for index in 1...3 { #expect(try await gallery.keep(Self.large()) == index) }
        await pair.close()
    }

    @Test("One message may be kept, whatever its size")
    func single() async throws {
        let (pair, _, gallery) = try await Self.visit(viewedBytes: 0)
        #expect(try await gallery.keep(Self.large()) == 1)
        await expectCode(.overloaded) { let _: Int = try await gallery.keep(Gallery.bar(1)) }
        try await gallery.letGo()
        #expect(try await gallery.keep(Gallery.bar(1)) == 1)
        await pair.close()
    }

    @Test("A result beyond the limit fails, and says that its method has run")
    func resultsInKeptView() async throws {
        let (pair, _, gallery) = try await Self.visit(viewedBytes: .max, ofClient: 0)
        var first: GraphView<Bar>? = try await gallery.make(10)
        do {
            let _: GraphView<Bar> = try await gallery.make(10)
            Issue.record("nothing was thrown")
        } catch let error as ConnectionError {
            #expect(error.code == .overloaded && !error.isSafeToRetry, "\(error)")
        }
        let bar: Bar = try await gallery.make(10)
        #expect(bar.foos.count == 10)
        #expect(try first.map { try Gallery.sum(of: $0) } == 45)
        first = nil
        let view: GraphView<Bar> = try await gallery.make(10)
        #expect(try Gallery.sum(of: view) == 45)
        await pair.close()
    }

    @Test("Views outlive their connection")
    func outlivingInKeptView() async throws {
        let (pair, served, gallery) = try await Self.visit(viewedBytes: 64 << 20)
        _ = try await gallery.keep(Self.large()) as Int
        await pair.close()
        #expect(try served.kept.withLock { try Gallery.sum(of: $0[0]) } == 66)
        #expect(try served.kept.withLock { try $0[0].decoded().foos.count } == 12)
    }
}
