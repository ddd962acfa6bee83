import DistantObjects
import Synchronization
import TestSupport
import Testing

@Suite("Promises of an object that turns out to be the caller's own", .bounded())
struct LoopBackTests {
    @Test("Messages reach the caller's own object in order, and resolving gives the object itself")
    func orderInLoopBack() async throws {
        let visit = try await Visit()
        let own = Hall("own")
        let promise = visit.hall.backLater.promise(Remote(vending: own))
        for number in 0..<10 { #expect(try promise.note.offer(number)) }
        async let name = promise.name()
        async let room = promise.resolved()
        await visit.served.started.wait()
        visit.served.gate.send()
        let resolved = try await room
        #expect(resolved.local(as: Hall.self) === own)
        // The marker has come back behind what was sent to the promise.
        #expect(own.notes.withLock { $0 } == Array(0..<10))
        #expect(try await name == "own")
        #expect(try await promise.note(10) == 10)
        #expect(try await resolved.note(11) == 11)
        #expect(own.notes.withLock { $0 } == Array(0...11))
        await visit.pair.client.close()
    }

    @Test("Arguments, results and errors pass through unchanged, large ones as well")
    func contentInLoopBack() async throws {
        var server = Connection.Configuration.patient
        server.errorTypes = [NoRoom.self]
        let visit = try await Visit(server: server)
        let own = Hall("own")
        let promise = visit.hall.back.promise(Remote(vending: own))
        #expect(try await promise.bytes([UInt8](repeating: 7, count: 1 << 20)) == 1 << 20)
        #expect(try await promise.meet(Remote(vending: Hall("other"))) == "own other")
        #expect(try await promise.meet(visit.hall) == "hall")
        #expect(try await promise.room("x").local(as: Hall.self) === own.room("x"))
        own.gate.send()
        await #expect(throws: NoRoom(name: "y")) { _ = try await promise.broken("y") }
        await expectCode(.noSuchMessage) { _ = try await promise.object.nothing() as Int }
        await expectCode(.wrongArgument) { _ = try await promise.object.note("text") as Int }
        await visit.pair.client.close()
    }

    @Test("A large message frees its room in the window before its answer needs it")
    func windowInLoopBack() async throws {
        let visit = try await Visit()
        let promise = visit.hall.back.promise(Remote(vending: Hall("own")))
        let bytes = [UInt8](repeating: 7, count: 5 << 20)
        #expect(try await promise.object.echo(bytes) == bytes)
        await visit.pair.client.close()
    }

    @Test("Messages are sent back in their order although one of them waits for credit or room")
    func creditInLoopBack() async throws {
        var client = Connection.Configuration.patient
        client.limits.queuedCalls = 1
        let visit = try await Visit(client: client)
        let own = Hall("own")
        let promise = visit.hall.backLater.promise(Remote(vending: own))
        let large = [UInt8](repeating: 7, count: 5 << 20)
        var promises: [DistantObject] = []
        for number in 0..<20 {
            promises.append(promise.object.note.promise(2 * number))
            if number % 5 == 0 { promises.append(promise.object.bytes.promise(large)) }
            #expect(try promise.object.note.offer(2 * number + 1))
        }
        visit.served.gate.send()
        _ = try await promise.resolved()
        let notes = own.notes.withLock { $0 }
        // One-way messages may be lost, as there is no credit for the calls before them.
        #expect(notes == notes.sorted() && notes.filter { $0 % 2 == 0 } == (0..<20).map { 2 * $0 })
        withExtendedLifetime(promises) {}
        await visit.pair.client.close()
    }

    @Test("A promise of such an object's result is a promise of the caller's own object, too")
    func nestedInLoopBack() async throws {
        let visit = try await Visit()
        let own = Hall("own")
        let promise = visit.hall.back.promise(Remote(vending: own))
        let room = promise.room.promise("x").room.promise("y")
        #expect(try await room.name() == "y")
        #expect(try await room.resolved().local(as: Hall.self) === own.room("x").room("y"))
        await expectCode(.noObject) { _ = try await promise.known.promise("none").name() }
        await visit.pair.client.close()
    }

    @Test("Cancelling such a call cancels the caller's own method")
    func cancelInLoopBack() async throws {
        let visit = try await Visit()
        let own = Hall("own")
        let promise = visit.hall.back.promise(Remote(vending: own))
        let call = Task { try await promise.wait() }
        await own.started.wait()
        call.cancel()
        await #expect(throws: CancellationError.self) { _ = try await call.value }
        await own.stopped.wait()
        await visit.pair.client.close()
    }

    @Test("Nothing is left when such promises are let go")
    func rest() async throws {
        let visit = try await Visit()
        for number in 0..<100 {
            let promise = visit.hall.back.promise(Remote(vending: Hall("own")))
            #expect(try await promise.note(number) == number)
        }
        try await visit.pair.rest(with: visit.hall)
        await visit.pair.close()
    }
}
