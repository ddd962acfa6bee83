import DistantObjects
import TestSupport

/// A value that only the thread of the loop uses.
final class Cell<Value>: @unchecked Sendable {
    var value: Value

    init(_ value: Value) {
        self.value = value
    }
}

/// An object in a message, and its identity for the oracle.
struct Gift: Codable {
    /// 0 if the sender does not know it.
    var identity: Int
    var object: DistantObject
}

/// An object of a peer.
///
/// It answers, keeps references and passes them on.
final class ScheduleNode: Vendable {
    let identity: Int
    let world: ScheduleWorld
    let held = Cell<[Gift]>([])
    /// The last number received from each client's calls, and from each client's separate task.
    let lastCall = Cell<[Int: Int]>([:])
    let lastInTask = Cell<[Int: Int]>([:])

    init(identity: Int, world: ScheduleWorld) {
        self.identity = identity
        self.world = world
    }

    static var messages: MessageTable<ScheduleNode> {
        Message("answer", ScheduleNode.answer)
        Message("think", ScheduleNode.think)
        Message("note", ScheduleNode.note)
        Message("identify", ScheduleNode.identify)
        Message("keep", ScheduleNode.keep)
        Message("give", ScheduleNode.give)
        Message("callBack", ScheduleNode.callBack)
        Message("fail", ScheduleNode.fail)
        Message("bytes", ScheduleNode.bytes)
        Message("make", ScheduleNode.make)
        Message("numbers", ScheduleNode.numbers)
        Message("sum", ScheduleNode.sum)
        Message("back", ScheduleNode.back)
        Message("fetch", ScheduleNode.fetch)
        Message("home", ScheduleNode.home)
        Message("visit", ScheduleNode.visit)
    }

    private func arrived(_ sender: Int, _ number: Int, isSmallCall: Bool = true) {
        // Callbacks with one number come from several peers. Only the messages of one client have an order.
        guard sender >= 0 else { return }
        if sender >= ScheduleWorld.routes { return world.arrived(number, on: sender) }
        // One-way messages, small calls and large ones wait in queues of their own, so those of different tasks can overtake
        // each other.
        if isSmallCall { check(number, in: lastCall, of: ScheduleWorld.client(sender)) }
        if sender < ScheduleWorld.besides { check(number, in: lastInTask, of: sender) }
    }

    private func check(_ number: Int, in last: Cell<[Int: Int]>, of client: Int) {
        if let before = last.value[client], before >= number {
            world.complain("object \(identity): message \(number) of \(client) after \(before)")
        }
        last.value[client] = number
    }

    func answer(_ sender: Int, _ number: Int) -> Int {
        arrived(sender, number)
        return number
    }

    func think(_ sender: Int, _ number: Int, _ pauses: Int) async -> Int {
        arrived(sender, number)
        for _ in 0..<pauses { await Task.yield() }
        return number
    }

    func note(_ sender: Int, _ number: Int) { arrived(sender, number, isSmallCall: false) }
    func identify() -> Int { identity }

    func keep(_ sender: Int, _ number: Int, _ gift: Gift) {
        arrived(sender, number)
        world.check(gift)
        // Only references to this peer's own objects may be passed on over any connection.
        if let own = gift.object.local(as: ScheduleNode.self) {
            remember(Gift(identity: own.identity, object: gift.object))
        }
    }

    private func remember(_ gift: Gift) {
        held.value.append(gift)
        if held.value.count > 3 { held.value.removeFirst() }
    }

    func give(_ sender: Int, _ number: Int) -> Gift {
        arrived(sender, number)
        return gift()
    }

    /// An object of this peer that others may refer to as well.
    func fetch(_ sender: Int, _ number: Int, _ pauses: Int) async -> DistantObject {
        arrived(sender, number)
        for _ in 0..<pauses { await Task.yield() }
        return gift().object
    }

    /// A new object of this peer, whose identity the caller has chosen.
    func make(_ sender: Int, _ number: Int, _ identity: Int, _ pauses: Int) async -> ScheduleNode {
        arrived(sender, number)
        for _ in 0..<pauses { await Task.yield() }
        return ScheduleNode(identity: identity, world: world)
    }

    /// An object of the caller, or one of this peer that the caller knows.
    func home(_ sender: Int, _ number: Int, _ gift: Gift, _ pauses: Int) async -> DistantObject {
        arrived(sender, number)
        world.check(gift)
        for _ in 0..<pauses { await Task.yield() }
        return gift.object
    }

    /// Calls back twice through promises, whose methods call back as well.
    ///
    /// All objects are new. At others, messages may wait that have the result of this method as an argument.
    func visit(_ sender: Int, _ number: Int, _ visitor: Gift, _ depth: Int) async throws -> ScheduleNode {
        arrived(sender, number)
        world.check(visitor)
        // Promises of this peer's own objects would run on threads of their own.
        for _ in 0..<2 where visitor.object.connection != nil {
            let own = world.node()
            let gift = Gift(identity: own.identity, object: DistantObject(standingFor: own))
            let promise =
                depth > 0
                ? visitor.object.visit.promise(-1, world.next(-1), gift, depth - 1)
                : visitor.object.make.promise(
                    -1, world.next(-1), world.identity(), Int.random(in: 0..<4, using: &world.random.value))
            let _: Int = try await promise.identify()
        }
        return world.node()
    }

    private func gift() -> Gift {
        // Mostly the same few objects, so that a mention often crosses a release of the same object.
        if held.value.isEmpty || Int.random(in: 0..<8, using: &world.random.value) == 0 {
            let fresh = world.node()
            remember(Gift(identity: fresh.identity, object: DistantObject(standingFor: fresh)))
        }
        return held.value.randomElement(using: &world.random.value)!
    }

    func callBack(_ sender: Int, _ number: Int, _ gift: Gift, _ depth: Int) async throws -> Int {
        arrived(sender, number)
        world.check(gift)
        try await world.identify(gift)
        guard depth > 0 else { return 0 }
        let back = Gift(identity: self.identity, object: DistantObject(standingFor: self))
        let deeper: Int = try await gift.object.callBack(-1, world.next(-1), back, depth - 1)
        return deeper + 1
    }

    func fail(_ sender: Int, _ number: Int) throws {
        arrived(sender, number)
        throw NotFound(name: "\(number)")
    }

    func bytes(_ sender: Int, _ number: Int, _ bytes: [UInt8]) -> [UInt8] {
        arrived(sender, number, isSmallCall: bytes.count <= 8_192)
        return bytes
    }
}
