import Dispatch
import DistantObjects
import DistantTesting
import Synchronization
import TestSupport
import Testing

@Suite("Connections to objects of this process", .bounded())
struct LoopbackTests {
    /// A configuration whose connections run on the loop.
    private func configuration(_ loop: TestLoop) -> Connection.Configuration {
        var configuration = Connection.Configuration()
        configuration.loop = loop.manual
        return configuration
    }

    @Test("The connection closes and the object is freed as soon as the last reference is gone")
    func closingInLoopback() throws {
        let loop = TestLoop()
        weak var office: Office?
        weak var connection: Connection?
        var note: Remote<NoteInterface>?
        do {
            let own = Office()
            office = own
            let remote = Remote(local: own, configuration: configuration(loop))
            connection = remote.object.connection
            note = try loop.run { try await remote.note("kept") }
        }
        loop.runUntilIdle()
        #expect(office == nil && connection?.isEnded == false)
        let text = try loop.run { [note] in try await note?.text() }
        #expect(text == "kept")
        note = nil
        loop.runUntilIdle()
        #expect(connection == nil)
    }

    @Test("An object that the other side still refers to keeps the connection open")
    func callbackInLoopback() throws {
        let loop = TestLoop()
        let keeper = Keeper()
        weak var connection: Connection?
        let note = Note()
        do {
            let remote = Remote(local: keeper, configuration: configuration(loop))
            connection = remote.object.connection
            try loop.run { try await remote.keep(Remote(vending: note)) }
        }
        loop.runUntilIdle()
        #expect(connection?.isEnded == false)
        try loop.run { try await keeper.kept.withLock { $0 }?.write("later") }
        #expect(note.text() == "later")
        keeper.kept.withLock { $0 = nil }
        loop.runUntilIdle()
        #expect(connection == nil)
    }

    @Test("A stream that is read after all else keeps the connection open until its end")
    func streamInLoopback() throws {
        let loop = TestLoop()
        weak var connection: Connection?
        var stream: DistantStream<Int>.WithFinal<Int>?
        do {
            let remote = Remote(local: Office(), configuration: configuration(loop))
            connection = remote.object.connection
            stream = try loop.run { try await remote.count(1_000) }
        }
        loop.advance(by: .seconds(300))
        let sum = try loop.run { [stream] in
            var sum = 0
            if let stream { for try await number in stream { sum += number } }
            return sum
        }
        #expect(sum == 499_500)
        stream = nil
        loop.advance(by: .seconds(64))
        #expect(connection == nil)
    }

    @Test("One-way messages run although nothing refers to the object any more and the connection closes")
    func oneWaysInLoopback() async throws {
        let office = Office()
        weak var connection: Connection?
        do {
            let remote = Remote(local: office, configuration: .patient)
            connection = remote.object.connection
            try await remote.block.oneWay()
            for number in 0..<3 { try await remote.log.oneWay(number) }
            await office.started.wait()
        }
        await eventually("the connection is closing") { connection?.isEnded ?? true }
        office.gate.signal()
        await eventually("all have run") { office.logged() == [0, 1, 2] }
        await eventually("the connection has ended") { connection == nil }
    }

    @Test("The connection takes all the time to close that a method needs which nothing waits for")
    func slowMethod() throws {
        let loop = TestLoop()
        let office = Office()
        weak var connection: Connection?
        do {
            let remote = Remote(local: office, configuration: configuration(loop))
            connection = remote.object.connection
            try loop.run { try await remote.hold.oneWay() }
        }
        loop.advance(by: .seconds(3_600))
        // It is closing, and has not ended.
        #expect(connection?.isEnded == true && office.stopped.count == 0)
        office.go.send()
        loop.advance(by: .seconds(10))
        #expect(connection == nil && office.stopped.count == 1)
    }

    @Test("A method can cut the connection that it is called over, which fails that remote only")
    func cutInLoopback() async throws {
        let keeper = Keeper()
        let remote = Remote(local: keeper)
        let other = Remote(local: keeper)
        let ended = Signal()
        remote.onEnd { _ in ended.send() }
        await expectCode(.outcomeUnknown) { try await remote.cut() }
        await ended.wait()
        await expectCode(.closed) { try await remote.cut() }
        await expectCode(.outcomeUnknown) { try await other.cut() }
    }

    @Test("What an object that came home returns by reference is the object itself, and can be sent on")
    func homeInLoopback() async throws {
        let pair = try await Pair()
        let own = Office()
        try pair.server.vend(own, as: "office")
        let office = try await pair.client.root(named: "office", as: OfficeInterface.self)
        // The server calls its own object, and answers with what that returns.
        try pair.server.vend(Broker(), as: "broker")
        let broker = try await pair.client.root(named: "broker", as: BrokerInterface.self)
        let note = try await broker.fetch(office, "sent on")
        #expect(try await note.text() == "sent on")
        // An argument of its concrete type is the object itself, too.
        let standing = DistantObject(standingFor: Keeper())
        let written = Note("argument")
        let isSame: Bool = try await standing.same(written, written)
        #expect(isSame)
        try await pair.client.ping()
        await pair.client.close()
    }

    @Test("An object that came home is called with the settings of the connection it came over")
    func settingsInLoopback() async throws {
        var server = Connection.Configuration.patient
        server.errorTypes = [NotFound.self]
        let pair = try await Pair(server: server)
        try pair.server.vend(Office(), as: "office")
        try pair.server.vend(Broker(), as: "broker")
        let office = try await pair.client.root(named: "office", as: OfficeInterface.self)
        let broker = try await pair.client.root(named: "broker", as: BrokerInterface.self)
        #expect(try await broker.failure(office) == "NotFound(name: \"it\")")
        await pair.client.close()
    }
}

private struct KeeperInterface: Interface {
    let keep = Signature<Void, Remote<NoteInterface>>("keep")
    let cut = Signature<Void>("cut")
}

private final class Keeper: Vendable, Implements {
    typealias I = KeeperInterface
    let kept = Mutex<Remote<NoteInterface>?>(nil)

    static var messages: MessageTable<Keeper> {
        Message(\I.keep, Keeper.keep)
        Message(\I.cut, Keeper.cut)
        Message("same") { (_: Keeper) in { (one: Note, other: Note) in one === other } }
    }

    func keep(_ note: Remote<NoteInterface>) { kept.withLock { $0 = note } }
    func cut() { Connection.current?.invalidate() }
}

private struct BrokerInterface: Interface {
    let fetch = Signature<Remote<NoteInterface>, Remote<OfficeInterface>, String>("fetch")
    let failure = Signature<String, Remote<OfficeInterface>>("failure")
}

/// Calls an object of its own process that comes home as an argument.
private final class Broker: Vendable, Implements {
    typealias I = BrokerInterface

    static var messages: MessageTable<Broker> {
        Message(\I.fetch, Broker.fetch)
        Message(\I.failure, Broker.failure)
    }

    func fetch(_ office: Remote<OfficeInterface>, _ text: String) async throws -> Remote<NoteInterface> {
        try await office.note(text)
    }

    func failure(_ office: Remote<OfficeInterface>) async -> String {
        do {
            try await office.fail(0)
            return ""
        } catch {
            return "\(error)"
        }
    }
}
