import DistantObjects
import Synchronization
import Testing

@Suite("Who calls", .bounded())
struct CurrentTests {
    @Test("Methods of all kinds see the connection they are called over", arguments: [false, true])
    func methods(inRun: Bool) async throws {
        let witness = Witness()
        let first = try await Pair()
        let second = try await Pair()
        for pair in [first, second] {
            pair.server.vend(witness, as: "witness")
            let remote = try await pair.client.root(named: "witness")
            let calls: @concurrent @Sendable () async throws -> Void = {
                try await remote.note.oneWay()
                try await remote.note()
                try await remote.noteInTask()
                try await remote.noteInTask.oneWay()
                try await remote.noteThrowing.oneWay()
                try await pair.client.barrier()
                #expect(Connection.current == nil)
            }
            if inRun { try await pair.client.run(calls) } else { try await calls() }
            await witness.noted.wait(for: pair.server === first.server ? 9 : 18)
            let seen = witness.seen.withLock { seen in
                defer { seen = [] }
                return seen
            }
            #expect(seen.count == 9)
            #expect(seen.allSatisfy { $0 === pair.server })
        }
        #expect(Connection.current == nil)
        await first.close()
        await second.close()
    }

    @Test("A callback sees its own connection, and the method that made the call sees its own again")
    func callbacks() async throws {
        let here = try await Pair()
        let there = try await Pair()
        there.server.vend(Inner(there.server))
        let relay = Passing(next: try await there.client.root.message("isCurrent"))
        here.server.vend(relay)
        let root = try await here.client.root
        let isRight: Bool = try await root.pass()
        #expect(isRight)
        #expect(relay.seen.withLock { $0.count } == 2)
        #expect(relay.seen.withLock { $0.allSatisfy { $0 === here.server } })
        relay.seen.withLock { $0 = [] }
        await here.close()
        await there.close()
    }

    @Test("A hook of several connections sees whose event it is told")
    func hooks() async throws {
        let seen = Mutex<[ObjectIdentifier?]>([])
        var server = Connection.Configuration()
        server.onEvent = { event in
            guard case .ended = event else { return }
            seen.withLock { $0.append(Connection.current.map { ObjectIdentifier($0) }) }
        }
        let pairs = [try await Pair(server: server), try await Pair(server: server)]
        for pair in pairs { await pair.close() }
        #expect(seen.withLock { $0 } == pairs.map { ObjectIdentifier($0.server) })
    }

    @Test("A method's detached task has no connection")
    func detached() async throws {
        let pair = try await Pair()
        let witness = Witness()
        pair.server.vend(witness)
        let root = try await pair.client.root
        let isNil: Bool = try await root.isNilDetached()
        #expect(isNil)
        await pair.close()
    }
}

private final class Witness: Vendable {
    let seen = Mutex<[Connection?]>([])
    let noted = Signal()

    static var messages: MessageTable<Witness> {
        Message("note", Witness.note)
        Message("noteInTask", Witness.noteInTask)
        Message("noteThrowing", Witness.noteThrowing)
        Message("isNilDetached", Witness.isNilDetached)
    }

    func note() {
        seen.withLock { $0.append(Connection.current) }
        noted.send()
    }

    func noteThrowing() throws {
        note()
        throw NotFound(name: "nothing")
    }

    /// Before and after it has waited, and in a task of its own.
    @concurrent func noteInTask() async throws {
        note()
        await Task.yield()
        try await Task.sleep(for: .microseconds(1))
        note()
        await Task { note() }.value
    }

    @concurrent func isNilDetached() async -> Bool { await Task.detached { Connection.current == nil }.value }
}

private final class Passing: Vendable {
    let seen = Mutex<[Connection?]>([])
    let next: RemoteMessage

    init(next: RemoteMessage) { self.next = next }

    static var messages: MessageTable<Passing> { Message("pass", Passing.pass) }

    @concurrent func pass() async throws -> Bool {
        seen.withLock { $0.append(Connection.current) }
        let result: Bool = try await next()
        seen.withLock { $0.append(Connection.current) }
        return result
    }
}

private final class Inner: Vendable {
    let expected: Connection

    init(_ expected: Connection) { self.expected = expected }

    static var messages: MessageTable<Inner> { Message("isCurrent", Inner.isCurrent) }

    func isCurrent() -> Bool { Connection.current === expected }
}
