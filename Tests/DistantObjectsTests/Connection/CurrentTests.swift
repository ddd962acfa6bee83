import Dispatch
import DistantObjects
import Synchronization
import TestSupport
import Testing

@Suite("Connection.current", .bounded())
struct CurrentTests {
    @Test("Methods of all kinds see the connection of their caller", arguments: [false, true])
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

    @Test("A callback sees its own connection, and afterwards the calling method sees its own again")
    func callbacksInCurrent() async throws {
        let here = try await Pair()
        let there = try await Pair()
        there.server.vend(Asker(there.server))
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

    @Test("An event handler of several connections sees the connection of the event")
    func hooks() async throws {
        let seen = Mutex<[ObjectIdentifier?]>([])
        var server = Connection.Configuration.patient
        server.onEvent = { event in
            guard event.code == .ended else { return }
            seen.withLock { $0.append(Connection.current.map { ObjectIdentifier($0) }) }
        }
        let pairs = [try await Pair(server: server), try await Pair(server: server)]
        for pair in pairs { await pair.close() }
        #expect(seen.withLock { $0 } == pairs.map { ObjectIdentifier($0.server) })
    }

    @Test("In an unstructured task of a method there is no current connection")
    func unstructured() async throws {
        let pair = try await Pair()
        pair.server.vend(Witness())
        let root = try await pair.client.root
        for _ in 0..<10 {
            let isNil: Bool = try await root.isNilInTasks()
            #expect(isNil)
        }
        await pair.close()
    }

    @Test("Concurrent calls over several connections see their own, even while a method blocks its thread")
    func atOnceInCurrent() async throws {
        let witness = Witness()
        let pairs = [try await Pair(), try await Pair(), try await Pair()]
        for pair in pairs { pair.server.vend(witness) }
        let blocked = try await pairs[0].client.root
        async let first: Bool = blocked.isSameAroundGate()
        await witness.noted.wait()
        try await withThrowingTaskGroup { group in
            for pair in pairs {
                let other = Asker(pair.server)
                pair.server.vend(other, as: "asker")
                let root = try await pair.client.root(named: "asker")
                for number in 0..<50 {
                    group.addTask {
                        let isOwn: Bool =
                            number % 2 == 0 ? try await root.isCurrent() : try await root.isCurrentInTask()
                        #expect(isOwn)
                    }
                }
            }
            try await group.waitForAll()
        }
        witness.gate.signal()
        #expect(try await first)
        for pair in pairs { await pair.close() }
    }

    @Test("An actor sees the connection of its caller, and an object called within the process that of this call")
    func elsewhere() async throws {
        let pair = try await Pair()
        let guest = Guest(pair.server)
        pair.server.vend(guest)
        let root = try await pair.client.root
        #expect(try await root.isCurrent())
        #expect(try await root.isCurrentLocally())
        await pair.close()
    }
}

private final class Witness: Vendable {
    let seen = Mutex<[Connection?]>([])
    let noted = Signal()
    let gate = DispatchSemaphore(value: 0)

    static var messages: MessageTable<Witness> {
        Message("note", Witness.note)
        Message("noteInTask", Witness.noteInTask)
        Message("noteThrowing", Witness.noteThrowing)
        Message("isNilInTasks", Witness.isNilInTasks)
        Message("isSameAroundGate", Witness.isSameAroundGate)
    }

    func note() {
        seen.withLock { $0.append(Connection.current) }
        noted.send()
    }

    func noteThrowing() throws {
        note()
        throw NotFound(name: "nothing")
    }

    /// Before and after it has waited, and in a child task.
    @concurrent func noteInTask() async throws {
        note()
        await Task.yield()
        try await Task.sleep(for: .microseconds(1))
        note()
        async let child: Void = noteAgain()
        await child
    }

    @concurrent private func noteAgain() async { note() }

    @concurrent func isNilInTasks() async -> Bool {
        let plain = await Task { Connection.current == nil }.value
        let detached = await Task.detached { Connection.current == nil }.value
        return plain && detached
    }

    func isSameAroundGate() -> Bool {
        let before = Connection.current
        noted.send()
        gate.wait()
        return before != nil && before === Connection.current
    }
}

private final class Asker: Vendable {
    let expected: Connection
    let hasCaller = Mutex(false)

    init(_ expected: Connection) { self.expected = expected }

    static var messages: MessageTable<Asker> {
        Message("isCurrent", Asker.isCurrent)
        Message("isCurrentInTask", Asker.isCurrentInTask)
    }

    func isCurrent() -> Bool {
        hasCaller.withLock { $0 = Connection.current != nil }
        return Connection.current === expected
    }

    @concurrent func isCurrentInTask() async -> Bool {
        let before = isCurrent()
        await Task.yield()
        return before && isCurrent()
    }
}

private actor Guest: Vendable {
    let expected: Connection

    init(_ expected: Connection) { self.expected = expected }

    static var messages: MessageTable<Guest> {
        Message("isCurrent") { (guest: Guest) in { () async -> Bool in await guest.isCurrent() } }
        Message("isCurrentLocally") { (guest: Guest) in
            { () async throws -> Bool in try await guest.isCurrentLocally() }
        }
    }

    func isCurrent() -> Bool { Connection.current === expected }

    func isCurrentLocally() async throws -> Bool {
        let asker = Asker(expected)
        let isExpected: Bool = try await DistantObject(standingFor: asker).isCurrent()
        return !isExpected && asker.hasCaller.withLock { $0 }
    }
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
