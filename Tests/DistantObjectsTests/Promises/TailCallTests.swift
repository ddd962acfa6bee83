import DistantObjects
import TestSupport
import Testing

@Suite("Methods that answer with the answer of another message", .bounded())
struct TailCallTests {
    @Test("The result, the error and the cancellation of the other message are passed on")
    func passingInTailCall() async throws {
        let desk = try await Desk()
        #expect(try await desk.front.name() == "hall")
        #expect(try await desk.front.note(7) == 7)
        await #expect(throws: NoRoom(name: "x")) { _ = try await desk.front.broken("x") as DistantObject }
        // The front desk has the message: it is the hall that has no such message.
        let refusal = await #expect(throws: RemoteError.self) { _ = try await desk.front.nothing() as Int }
        #expect(refusal?.code == .noSuchMessage)
        let waiting = Task { try await desk.front.wait() as DistantObject }
        await desk.hall.started.wait(for: 2)
        waiting.cancel()
        await #expect(throws: CancellationError.self) { _ = try await waiting.value }
        await desk.hall.stopped.wait()
        try await desk.front.note.oneWay(8)
        await desk.hall.noted.wait(for: 2)
        #expect(try await desk.front.bytes([UInt8](repeating: 1, count: 1 << 20)) == 1 << 20)
        await desk.close()
    }

    @Test("A reference is passed on to the process that it came from, and to no other")
    func referencesInTailCall() async throws {
        let desk = try await Desk()
        await expectCode(.foreignReference) { _ = try await desk.front.room("x") }
        let own = Hall("own")
        let back = try await desk.front.back(Remote<HallInterface>(vending: own)) as Remote<HallInterface>
        #expect(back.local(as: Hall.self) === own)
        await desk.close()
    }

    @Test("They work for objects of this process, on either side")
    func localInTailCall() async throws {
        let hall = Hall("own")
        let desk = FrontDesk(Remote(local: hall))
        let pair = try await Pair()
        pair.server.vend(desk, as: "desk")
        let front = try await pair.client.root(named: "desk")
        #expect(try await front.name() == "own")
        #expect(try await DistantObject(standingFor: desk).note(1) == 1)
        await #expect(throws: (any Error).self) {
            _ = try await DistantObject(standingFor: desk).nothing() as Int
        }
        await pair.client.close()
    }
}

/// A client of a front desk, which answers with what a hall in a third place answers.
private struct Desk {
    let visit: Visit
    let pair: Pair
    let front: DistantObject

    var hall: Hall { visit.served }

    init() async throws {
        visit = try await Visit()
        visit.served.gate.send()
        var client = Connection.Configuration.patient
        client.errorTypes = [NoRoom.self]
        pair = try await Pair(client: client)
        pair.server.vend(FrontDesk(visit.hall), as: "desk")
        front = try await pair.client.root(named: "desk")
    }

    func close() async {
        await pair.client.close()
        await visit.pair.client.close()
    }
}

private final class FrontDesk: Vendable {
    private let hall: Remote<HallInterface>

    init(_ hall: Remote<HallInterface>) { self.hall = hall }

    static var messages: MessageTable<FrontDesk> {
        Message("itself") { (desk: FrontDesk) in { () -> FrontDesk in desk } }
        Message(\HallInterface.room, FrontDesk.room)
        Message(\HallInterface.name) { (desk: FrontDesk) in { () -> TailCall<String> in desk.hall.name.tailCall() } }
        Message(\HallInterface.note) { (desk: FrontDesk) in
            { (number: Int) -> TailCall<Int> in desk.hall.note.tailCall(number) }
        }
        Message(\HallInterface.wait) { (desk: FrontDesk) in
            { () -> TailCall<Remote<HallInterface>> in desk.hall.wait.tailCall() }
        }
        Message("broken") { (desk: FrontDesk) in
            { (name: String) -> TailCall<DistantObject> in desk.hall.object.broken.tailCall(name) }
        }
        Message("nothing") { (desk: FrontDesk) in { () -> TailCall<Int> in desk.hall.object.nothing.tailCall() } }
        Message("bytes") { (desk: FrontDesk) in { (bytes: [UInt8]) -> TailCall<Int> in desk.hall.bytes.tailCall(bytes) }
        }
        Message("back") { (_: FrontDesk) in
            { (hall: DistantObject) -> TailCall<DistantObject> in hall.message("").tailCall() }
        }
    }

    func room(_ name: String) -> TailCall<Remote<HallInterface>> { hall.room.tailCall(name) }
}
