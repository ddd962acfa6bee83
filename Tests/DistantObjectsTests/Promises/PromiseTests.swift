import DistantObjects
import KeyedArchive
import Synchronization
import TestSupport
import Testing

@Suite("Promises: results that are used before they have come", .bounded())
struct PromiseTests {
    static let transports: [Connection.PairTransport] = [.socketpair, .pipes]

    @Test("Four calls, each for the result of the one before, take one answer", arguments: transports)
    func chainInPromise(over transport: Connection.PairTransport) async throws {
        let visit = try await Visit(over: transport)
        if transport == .socketpair { try await visit.pair.awaitSharedMemory() }
        let before = visit.pair.client.statistics.framesIn
        do {
            let first = visit.hall.room.promise("a")
            let second = first.room.promise("b")
            let third = second.room.promise("c")
            #expect(try await third.name() == "c")
            // Letting the promises go brings further frames.
            #expect(visit.pair.client.statistics.framesIn == before + 1)
            withExtendedLifetime((first, second, third)) {}
        }
        #expect(visit.room("a").room("b").known("c") != nil)
        try await visit.pair.rest(with: visit.hall)
        await visit.pair.close()
    }

    @Test("A promise of an async method, in the dynamic form, with a one-way message and from a plain thread")
    func formsInPromise() async throws {
        let visit = try await Visit()
        let later = visit.hall.object.later.promise("x")
        try await later.note.oneWay(1)
        async let note: Int = later.note(2)
        await visit.served.started.wait()
        visit.served.gate.send()
        #expect(try await note == 2)
        #expect(visit.room("x").notes.withLock { $0 } == [1, 2])
        let hall = visit.hall
        let blocked = try await onThread {
            let promise = hall.room.promise("y")
            try promise.note.blockingOneWay(3)
            return (try promise.name.blocking(), try promise.blockingResolved().name.blocking())
        }
        #expect(blocked.0 == "y" && blocked.1 == "y")
        await visit.pair.client.close()
    }

    @Test("What is sent to a resolved promise's object starts after what was sent to the promise")
    func orderInPromise() async throws {
        let visit = try await Visit()
        let promise = visit.hall.later.promise("x")
        for number in 0..<10 { #expect(try promise.note.offer(number)) }
        async let room = promise.resolved()
        await visit.served.started.wait()
        visit.served.gate.send()
        let resolved = try await room
        #expect(try await resolved.note(10) == 10)
        #expect(try await promise.note(11) == 11)
        #expect(visit.room("x").notes.withLock { $0 } == Array(0...11))
        #expect(resolved != promise && resolved.object.description != promise.object.description)
        #expect(try await resolved.resolved() == resolved)
        await visit.pair.client.close()
    }

    @Test("A promise that fails fails each message to it once, with its own error")
    func failureInPromise() async throws {
        let visit = try await Visit()
        let promise = visit.hall.broken.promise("x")
        let calls = (0..<3).map { number in Task { try await promise.room.promise("y").note(number) } }
        let argument = Task { try await visit.hall.meet(promise) }
        await visit.served.started.wait()
        visit.served.gate.send()
        for call in calls { await #expect(throws: NoRoom(name: "x")) { try await call.value } }
        await #expect(throws: NoRoom(name: "x")) { try await argument.value }
        await #expect(throws: NoRoom(name: "x")) { try await promise.name() }
        await #expect(throws: NoRoom(name: "x")) { try await promise.resolved() }
        await visit.pair.client.close()
    }

    @Test("The refusal of a promise names its own message, and a later one does not hide it")
    func refusalInPromise() async throws {
        let visit = try await Visit()
        let promise = visit.hall.object.nothing.promise()
        let error = await #expect(throws: ConnectionError.self) { try await promise.also.promise().note(1) as Int }
        #expect(error?.code == .noSuchMessage && error?.context == "nothing")
        await visit.pair.client.close()
    }

    @Test("A promised nil fails what is sent to it, and so does a result that is no object")
    func noObject() async throws {
        let visit = try await Visit()
        let error = await #expect(throws: ConnectionError.self) {
            _ = try await visit.hall.known.promise("x").name() as String
        }
        // The method of the promise has run.
        #expect(error?.code == .noObject && error?.isSafeToRetry == false)
        _ = visit.room("x")
        #expect(try await visit.hall.known.promise("x").name() == "x")
        await expectCode(.noObject) { _ = try await visit.hall.object.number.promise().resolved() }
        await expectCode(.noObject) { _ = try await visit.hall.object.pair.promise().resolved() }
        await visit.pair.client.close()
    }

    @Test("A promise is an argument to the same peer, which gets its own object")
    func argumentInPromise() async throws {
        let visit = try await Visit()
        let promise = visit.hall.later.promise("x")
        async let met = visit.hall.meet(promise)
        await eventually("the call is sent") { visit.pair.client.committedCalls == 2 }
        // It is for the same object as the message that waits for the promise.
        async let noted = visit.hall.note(1)
        await visit.served.started.wait()
        #expect(visit.served.notes.withLock { $0 } == [])
        visit.served.gate.send()
        #expect(try await met == "own x")
        #expect(try await noted == 1)
        await visit.pair.client.close()
    }

    @Test("Dropping a promise cancels its method, but not while a message waits for it")
    func dropInPromise() async throws {
        let visit = try await Visit()
        do {
            let promise = visit.hall.wait.promise()
            await visit.served.started.wait()
            withExtendedLifetime(promise) {}
        }
        await visit.served.stopped.wait(for: 1)
        let name = Task {
            let promise = visit.hall.wait.promise()
            return try await promise.name()
        }
        await visit.served.started.wait(for: 2)
        // Both frames are handled before this.
        try await visit.pair.client.ping()
        #expect(visit.served.stopped.count == 1)
        name.cancel()
        await #expect(throws: CancellationError.self) { try await name.value }
        await visit.served.stopped.wait(for: 2)
        try await visit.pair.rest(with: visit.hall)
        await visit.pair.close()
    }

    @Test("A promise cannot be a result, sent to another peer, or written into an archive")
    func places() async throws {
        let visit = try await Visit()
        let other = try await Visit()
        await expectCode(.notEncodable) { _ = try await visit.pair.client.relay(visit.hall, Hall("mine")) }
        let promise = visit.hall.room.promise("x")
        await expectCode(.foreignReference) { _ = try await other.hall.meet(promise) }
        #expect(throws: (any Error).self) { try KeyedArchiver.archivedData(withRoot: promise) }
        #expect(try await promise.name() == "x")
        await visit.pair.client.close()
        await other.pair.client.close()
    }

    @Test("A promise that cannot be sent says why when it is used", arguments: [true, false])
    func unsentInPromise(isClosed: Bool) async throws {
        let visit = try await Visit()
        if isClosed { await visit.pair.client.close() }
        let other = try await Visit()
        let promise =
            isClosed ? visit.hall.room.promise("x") : visit.hall.back.promise(other.hall)
        let code: ConnectionError.Code = isClosed ? .closed : .foreignReference
        await expectCode(code) { _ = try await promise.name() }
        await expectCode(code) { _ = try await promise.room.promise("y").resolved() }
        await expectCode(code) { _ = try await other.hall.meet(promise) }
        await expectCode(code) { _ = try promise.note.offer(1) }
        await visit.pair.client.close()
        await other.pair.client.close()
    }

    @Test("The end of the connection ends promises and what was sent to them")
    func endingInPromise() async throws {
        let visit = try await Visit()
        let promise = visit.hall.wait.promise()
        let name = Task { try await promise.name() }
        await visit.served.started.wait()
        await eventually("the call is sent") { visit.pair.client.committedCalls == 2 }
        visit.pair.client.invalidate()
        let error = await #expect(throws: ConnectionError.self) { try await name.value }
        #expect(error?.code == .outcomeUnknown || error?.code == .notSent)
        await visit.served.stopped.wait()
        await expectCode(.closed) { _ = try await promise.name() }
        _ = await visit.pair.server.ended
        #expect(visit.pair.client.statistics.isAtRest && visit.pair.server.statistics.isAtRest)
    }

    @Test("A connection closes in order although promises are held")
    func closingInPromise() async throws {
        let visit = try await Visit()
        let promise = visit.hall.room.promise("x")
        #expect(try await promise.name() == "x")
        await visit.pair.client.close()
        guard case .closedByPeer = await visit.pair.server.ended else {
            Issue.record("the server did not see an orderly close")
            return
        }
        await expectCode(.closed) { _ = try await promise.name() }
    }

    @Test("More promises than a connection holds are not sent, and dropping some makes room")
    func limitInPromise() async throws {
        let visit = try await Visit()
        var promises = (0..<4_096).map { _ in visit.hall.room.promise("x") }
        await expectCode(.overloaded) { _ = try await visit.hall.room.promise("y").name() }
        #expect(visit.served.known("y") == nil)
        #expect(try await promises[4_000].name() == "x")
        promises.removeAll()
        try await visit.pair.rest(with: visit.hall)
        #expect(try await visit.hall.room.promise("y").name() == "y")
        await visit.pair.client.close()
    }

    @Test("Messages keep their order with one credit, also behind a large promise")
    func oneCredit() async throws {
        var server = Connection.Configuration.patient
        server.limits.queuedCalls = 1
        let visit = try await Visit(server: server)
        let big = [UInt8](repeating: 1, count: 1 << 20)
        let large = visit.hall.object.bytes.promise(big)
        let first = visit.hall.room.promise("x")
        let second = first.room.promise("y")
        var numbers: [Task<Int, any Error>] = []
        for number in 0..<50 {
            let promise = second.back.promise(second)
            numbers.append(Task { try await promise.note(number) })
        }
        #expect(try await second.name() == "y")
        for (number, note) in numbers.enumerated() { #expect(try await note.value == number) }
        await expectCode(.noObject) { _ = try await large.resolved() }
        #expect(visit.room("x").room("y").notes.withLock { $0.sorted() } == Array(0..<50))
        await visit.pair.client.close()
    }

    @Test("A promise of an object of this process behaves like one of another's")
    func localInPromise() async throws {
        let hall = Hall("own")
        var configuration = Connection.Configuration.patient
        configuration.errorTypes = [NoRoom.self]
        let remote = Remote<HallInterface>(local: hall, configuration: configuration)
        #expect(try await remote.room.promise("a").room.promise("b").name() == "b")
        hall.gate.send()
        let later = remote.later.promise("x")
        #expect(try await later.resolved().name() == "x")
        hall.gate.send()
        await #expect(throws: NoRoom.self) { _ = try await remote.broken.promise("x").name() }
        await expectCode(.noObject) { _ = try await remote.known.promise("y").name() }
        #expect(try later.note.offer(1))
    }
}

extension Connection {
    /// Has the peer answer with a promise of an object of this side.
    fileprivate func relay(_ hall: Remote<HallInterface>, _ own: Hall) async throws -> DistantObject {
        try await hall.object.relay(Remote<HallInterface>(vending: own))
    }
}

extension Pair {
    /// Waits until only the reference to a root is left.
    func rest(with root: Remote<HallInterface>) async throws {
        let deadline = ContinuousClock.now + TestTimeout.wait
        while ContinuousClock.now < deadline {
            let (client, server) = (client.statistics, server.statistics)
            if client.imports == 1, server.exports == 1, client.exports + server.imports == 0,
                client.questions + client.answers + server.questions + server.answers == 0
            {
                return withExtendedLifetime(root) {}
            }
            try await self.client.ping()
        }
        Issue.record("something is left: \(client.statistics) \(server.statistics)")
    }
}
