import DistantObjects
import Synchronization
import TestSupport
import Testing

@Suite("Interfaces of different versions", .bounded())
struct VersionTests {
    /// A library of the client's making, of which the server has another version.
    private func visit<I: Interface, Served: Vendable & Implements>(
        _ served: Served, as interface: I.Type
    ) async throws -> (Pair, Remote<I>) {
        let pair = try await Pair()
        try pair.server.vend(served, as: "library")
        return (pair, try await pair.client.root(named: "library", as: interface))
    }

    @Test("A new client uses an old server, and what that lacks fails before it is sent")
    func newClient() async throws {
        let (pair, library) = try await visit(OldLibrary(), as: NewLibraryInterface.self)
        #expect(try await library.add(Book(title: "Atlas")) == 1)
        #expect(library.add.isAvailable && !library.clear.isAvailable && !library.lend.isAvailable)
        try await pair.awaitSharedMemory()
        let sent = pair.client.statistics.framesOut
        await expectCode(.notAvailable) { try await library.clear() }
        await expectCode(.notAvailable) { try await library.lend(Book(title: "Atlas"), "Tom") }
        await expectCode(.notAvailable) { try await library.clear.oneWay() }
        #expect(throws: ConnectionError.self) { try library.clear.offer() }
        #expect(pair.client.statistics.framesOut == sent)
        await pair.client.close()
    }

    @Test("An old client uses a new server")
    func oldClient() async throws {
        let (pair, library) = try await visit(Library(), as: OldLibraryInterface.self)
        #expect(try await library.add(Book(title: "Atlas")) == 1)
        #expect(try await library.find("Atlas") == Book(title: "Atlas"))
        await pair.client.close()
    }

    @Test("A look-up lists all that the server lacks or has otherwise, but for what came later")
    func mismatch() async throws {
        let pair = try await Pair()
        try pair.server.vend(Library(), as: "library")
        let error = await #expect(throws: ConnectionError.self) {
            try await pair.client.root(named: "library", as: OtherLibraryInterface.self)
        }
        #expect(error?.code == .interfaceMismatch && error?.isSafeToRetry == true)
        let message = error?.message ?? ""
        for part in [
            "Library does not answer what OtherLibraryInterface asks",
            "add: the arguments (Book, Int) are (Book) there",
            "find: result Void is Optional<Book> there",
            "shelf: result Remote<ReaderInterface> is Remote<ShelfInterface> there",
            "title() -> String is missing",
        ] { #expect(message.contains(part), "\(message)") }
        #expect(!message.contains("clear"))
        await pair.close()
    }

    @Test("A type that had another name is told so by the signature")
    func renamed() async throws {
        let (pair, library) = try await visit(Library(), as: RenamedLibraryInterface.self)
        #expect(try await library.add(.init(title: "Atlas")) == 1)
        #expect(try await library.find("Atlas")?.title == "Atlas")
        await pair.client.close()
    }

    @Test("A remote that comes in a message is checked as it is decoded, and the connection goes on")
    func inMessages() async throws {
        let pair = try await Pair()
        let library = Library()
        try pair.server.vend(library, as: "library")
        let object = try await pair.client.root(named: "library")
        // The result: a shelf where a reader is expected.
        let error = await #expect(throws: ConnectionError.self) {
            let _: Remote<ReaderInterface> = try await object.shelf("poems")
        }
        #expect(error?.code == .wrongResult && error?.message.contains("tell(String) -> Void is missing") == true)
        // The argument: a library where a reader is expected.
        let refusal = await #expect(throws: ConnectionError.self) { let _: Int = try await object.watch(OldLibrary()) }
        #expect(refusal?.code == .wrongArgument && refusal?.message.contains("told() -> Int is missing") == true)
        let shelf: Remote<ShelfInterface> = try await object.shelf("poems")
        #expect(try await shelf.title() == "poems")
        await pair.client.close()
    }

    /// A connection whose peer says what a test has it say.
    private func peer(features: UInt64) async throws -> RawPeerConnection {
        try await RawPeerConnection(.socketpair, hello: RawPeer.greeting(features: features))
    }

    @Test("A peer that does not describe its classes is found out by the first message it does not know")
    func undescribed() async throws {
        let peer = try await peer(features: 0)
        let library = try Remote<NewLibraryInterface>(await peer.root())
        #expect(library.clear.isAvailable)
        let raw = peer.raw
        func refuse() async throws {
            _ = try await onThread { raw.read() }
            // Refused with code 4, the sentence "x" and no context.
            raw.send(3, flags: 2, [0, 0, 0, 0, 4, 4, 0x81, 0x78, 0x80])
        }
        async let first: Void = expectCode(.noSuchMessage) { _ = try await library.add(Book(title: "Atlas")) }
        try await refuse()
        await first
        async let second: Void = expectCode(.notAvailable) { try await library.clear() }
        try await refuse()
        await second
        peer.raw.close()
        await peer.expectEnd(RawPeerConnection.isLost)
    }

    @Test("An object whose description cannot be read is used as one without a class")
    func damagedInVersion() async throws {
        let peer = try await peer(features: 16)
        async let root = peer.connection.root
        let raw = peer.raw
        _ = try await onThread { raw.read() }
        // One reference of the sender's, in slot 1, with a class whose description is three bytes of nothing.
        raw.send(3, [0, 1, 2, 1, 0, 0, 3, 9, 9, 9, 0] + [0, 2, 0xD7, 0])
        let object = try await root
        #expect(DistantObject.classDescription(of: object) == nil)
        #expect(try Remote<NewLibraryInterface>(object).clear.isAvailable)
        raw.close()
        await peer.expectEnd(RawPeerConnection.isLost)
    }

    /// A class for each type it is made with.
    private final class Many<Part>: Vendable {
        static var messages: MessageTable<Many<Part>> {
            Message("tell") { (_: Many<Part>) in { (_: [String: [String: [String: [String: Int]]]]) in } }
        }
    }

    @Test("Classes that have no room in one message are described in a later one")
    func manyClasses() async throws {
        func objects<Part>(_ part: Part.Type, _ count: Int) -> [DistantObject] {
            guard count > 0 else { return [] }
            return [DistantObject(standingFor: Many<Part>())] + objects([Part].self, count - 1)
        }
        let pair = try await Pair()
        let all = objects(Int.self, 130)
        pair.server.vend(Taker(), as: "taker")
        let taker = try await pair.client.root(named: "taker")
        let first: [Bool] = try await taker.areDescribed(all)
        #expect(first.contains(true) && first.contains(false))
        // Each message has room for some more, also for objects whose proxies live on.
        var described = first
        for _ in 0..<8 where described.contains(false) { described = try await taker.areDescribed(all) }
        #expect(!described.contains(false))
        await pair.client.close()
    }

    @Test("Objects whose class came too late for their first message have it from a later one on")
    func describedLater() async throws {
        func objects<Part>(_ part: Part.Type, _ count: Int) -> [DistantObject] {
            guard count > 0 else { return [] }
            return [DistantObject(standingFor: Many<Part>())] + objects([Part].self, count - 1)
        }
        let pair = try await Pair()
        let taker = Taker()
        pair.server.vend(taker, as: "taker")
        let remote = try await pair.client.root(named: "taker")
        let all = objects(Int.self, 130)
        let first: [Bool] = try await remote.keep(all)
        #expect(first.contains(false))
        for object in all.reversed() { let _: [Bool] = try await remote.areDescribed([object]) }
        let kept: [Bool] = try await remote.areKeptDescribed()
        #expect(kept.count == 130 && !kept.contains(false))
        try await remote.letGo()
        await pair.client.close()
    }
}

private final class Taker: Vendable {
    private let kept = Mutex<[DistantObject]>([])

    static var messages: MessageTable<Taker> {
        Message("areDescribed", Taker.areDescribed)
        Message("keep", Taker.keep)
        Message("areKeptDescribed", Taker.areKeptDescribed)
        Message("letGo", Taker.letGo)
    }

    func keep(_ objects: [DistantObject]) -> [Bool] {
        kept.withLock { $0 = objects }
        return areDescribed(objects)
    }

    func areKeptDescribed() -> [Bool] { areDescribed(kept.withLock { $0 }) }
    func letGo() { kept.withLock { $0 = [] } }

    struct Anything: Interface {
        let anything = Signature<Void>("anything")
    }

    /// Which of them cannot be used by an interface that none has.
    func areDescribed(_ objects: [DistantObject]) -> [Bool] {
        objects.map { (try? Remote<Anything>($0)) == nil }
    }
}
