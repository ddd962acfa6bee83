import DistantObjects
import Synchronization
import TestSupport
import Testing

@Suite("Views as arguments and results", .bounded())
struct GraphViewCallTests {
    private struct Visit {
        let pair: Pair
        let served = Gallery()
        let gallery: DistantObject

        init(
            client: Connection.Configuration = .patient, server: Connection.Configuration = .patient,
            over transport: Connection.PairTransport = .socketpair
        ) async throws {
            pair = try await Pair(client: client, server: server, over: transport)
            try pair.server.vend(served, as: "gallery")
            gallery = try await pair.client.root(named: "gallery")
        }
    }

    /// Numbers of foos whose message fits a read buffer, and does not.
    private static let sizes = [0, 3, 100, 20_000]

    private static func sum(_ count: Int) -> Int { count * (count - 1) / 2 }

    @Test("A method that takes a view gets what a caller sends as objects, and the other way round", arguments: sizes)
    func arguments(count: Int) async throws {
        let visit = try await Visit()
        let (gallery, sum) = (visit.gallery, Self.sum(count))
        #expect(try await gallery.sum(Gallery.bar(count)) == sum)
        #expect(try await gallery.sum(GraphView(Gallery.bar(count))) == sum)
        #expect(try await gallery.sumOfObjects(GraphView(Gallery.bar(count))) == sum)
        #expect(try await gallery.sumLater(Gallery.bar(count)) == 4 * sum)
        let blocking: Int = try await onThread { try gallery.sum.blocking(Gallery.bar(count)) }
        #expect(blocking == sum)
        await visit.pair.close()
    }

    @Test("Over pipes, whose memory is not shared", arguments: sizes)
    func pipesInGraphViewCall(count: Int) async throws {
        let visit = try await Visit(over: .pipes)
        #expect(try await visit.gallery.sum(Gallery.bar(count)) == Self.sum(count))
        #expect(try await visit.gallery.sumLater(GraphView(Gallery.bar(count))) == 4 * Self.sum(count))
        await visit.pair.close()
    }

    @Test("A caller awaits a view of what a method returns as an object, and the other way round", arguments: sizes)
    func resultsInGraphViewCall(count: Int) async throws {
        let visit = try await Visit()
        let sum = Self.sum(count)
        let made: GraphView<Bar> = try await visit.gallery.make(count)
        #expect(try Gallery.sum(of: made) == sum)
        let view: GraphView<Bar> = try await visit.gallery.makeView(count)
        #expect(try Gallery.sum(of: view) == sum)
        let object: Bar = try await visit.gallery.makeView(count)
        #expect(object.foos.count == count)
        await visit.pair.close()
        // What was received stays.
        #expect(try Gallery.sum(of: made) == sum)
    }

    @Test("An interface may name views where the object's class names objects")
    func interfacesInGraphViewCall() async throws {
        let visit = try await Visit()
        let gallery = try await visit.pair.client.root(named: "gallery", as: GalleryInterface.self)
        #expect(try await gallery.sum(GraphView(Gallery.bar(10))) == 45)
        #expect(try await gallery.sumOfObjects(GraphView(Gallery.bar(10))) == 45)
        #expect(try Gallery.sum(of: await gallery.make(10)) == 45)
        #expect(try Gallery.sum(of: await gallery.makeView(10)) == 45)
        await visit.pair.close()
    }

    @Test("Calls within a process copy views as between processes")
    func localInGraphViewCall() async throws {
        let served = Gallery()
        let gallery = DistantObject(standingFor: served)
        #expect(try await gallery.sum(Gallery.bar(10)) == 45)
        #expect(try await gallery.sum(GraphView(Gallery.bar(10))) == 45)
        #expect(try await gallery.sumLater(GraphView(Gallery.bar(10))) == 180)
        #expect(try await gallery.sumOfObjects(GraphView(Gallery.bar(10))) == 45)
        let made: GraphView<Bar> = try await gallery.make(10)
        #expect(try Gallery.sum(of: made) == 45)
    }

    @Test("Views of plain values, and views in a list")
    func plainValues() async throws {
        let visit = try await Visit()
        #expect(try await visit.gallery.number(7, [Foo(name: "a", age: 1), nil]) == 9)
        #expect(try await visit.gallery.number(300, [Foo?]()) == 300)
        #expect(try await visit.gallery.number(GraphView(300), [GraphView(Foo(name: "a", age: 1))]) == 301)
        await visit.pair.close()
    }

    @Test("An object by reference in a view is called, and released with the view")
    func referencesInGraphViewCall() async throws {
        let visit = try await Visit()
        let observer = Observer()
        observer.note("x")
        let count: Int = try await visit.gallery.ask(
            Warded(Foo(name: "f", age: 1), DistantObject(standingFor: observer)))
        #expect(count == 1)
        await eventually("the observer is released") { visit.pair.client.statistics.exports == 0 }
        await visit.pair.close()
    }

    @Test("A view that was received is sent on over another connection")
    func sentOn() async throws {
        let (first, second) = (try await Visit(), try await Visit())
        let made: GraphView<Bar> = try await first.gallery.make(1_000)
        #expect(try await second.gallery.sum(made) == Self.sum(1_000))
        _ = try await second.gallery.keep(made) as Int
        let back: GraphView<Bar> = try await second.gallery.give(0)
        #expect(try Gallery.sum(of: back) == Self.sum(1_000))
        await first.pair.close()
        await second.pair.close()
    }

    @Test("A graph beyond a limit is refused before the method runs, and the connection goes on")
    func limitsInGraphViewCall() async throws {
        var server = Connection.Configuration.patient
        server.limits.archive.objects = 11
        let visit = try await Visit(server: server)
        #expect(try await visit.gallery.sum(Gallery.bar(10)) == 45)
        await expectCode(.wrongArgument) { let _: Int = try await visit.gallery.sum(Gallery.bar(11)) }
        await expectCode(.wrongArgument) { let _: Int = try await visit.gallery.sum(Foo(name: "f", age: 1)) }
        await expectCode(.wrongArgument) { let _: Int = try await visit.gallery.sum("text") }
        #expect(visit.served.runs.withLock { $0 } == 1)
        await visit.pair.close()
    }
}
