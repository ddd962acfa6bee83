import DistantObjects
import PortTransport
import Synchronization
import TestSupport
import Testing

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Several peers do random work on one thread with a simulated clock, so that the seed determines everything.
///
/// A failing test prints its seed; `DISTANT_SEED=n swift test --filter RandomSchedule` repeats it.
@Suite("Random schedules", .serialized, .bounded())
struct RandomScheduleTests {
    static let seeds: [UInt64] = {
        if let one = ProcessInfo.processInfo.environment["DISTANT_SEED"].flatMap({ UInt64($0) }) { return [one] }
        let count = ProcessInfo.processInfo.environment["DISTANT_SEEDS"].flatMap { UInt64($0) } ?? 60
        // Each run uses other seeds. A failure prints its seed.
        let start = UInt64.random(in: 0..<1 << 40)
        return (0..<count).map { start + $0 }
    }()

    @Test("Order, outcomes, identity and empty tables are as the oracle predicts", arguments: seeds)
    func schedule(seed: UInt64) {
        let world = World(seed: seed)
        world.run()
        for complaint in world.complaints.value { Issue.record("seed \(seed): \(complaint)") }
        #expect(world.finished.value == world.begun.value, "seed \(seed): a call never ended")
        for link in world.links {
            #expect(link.statistics.isAtRest, "seed \(seed): \(link.name) \(link.statistics)")
        }
        #expect(world.begun.value > 0)
    }
}

/// A value that only the thread of the loop uses.
private final class Cell<Value>: @unchecked Sendable {
    var value: Value

    init(_ value: Value) {
        self.value = value
    }
}

/// An object in a message, and its identity for the oracle.
private struct Gift: Codable {
    var identity: Int
    var object: DistantObject
}

/// An object of a peer.
///
/// It answers, keeps references and passes them on.
private final class Node: Vendable {
    let identity: Int
    let world: World
    let held = Cell<[Gift]>([])
    /// The last number received from each client's calls, and from each client's separate task.
    let lastCall = Cell<[Int: Int]>([:])
    let lastInTask = Cell<[Int: Int]>([:])

    init(identity: Int, world: World) {
        self.identity = identity
        self.world = world
    }

    static var messages: MessageTable<Node> {
        Message("answer", Node.answer)
        Message("think", Node.think)
        Message("note", Node.note)
        Message("identify", Node.identify)
        Message("keep", Node.keep)
        Message("give", Node.give)
        Message("callBack", Node.callBack)
        Message("fail", Node.fail)
        Message("bytes", Node.bytes)
    }

    private func arrived(_ sender: Int, _ number: Int, isSmallCall: Bool = true) {
        // Callbacks with one number come from several peers. Only the messages of one client have an order.
        guard sender >= 0 else { return }
        // One-way messages, small calls and large ones wait in queues of their own, so those of different tasks can overtake
        // each other.
        if isSmallCall { check(number, in: lastCall, of: World.client(sender)) }
        if sender < World.besides { check(number, in: lastInTask, of: sender) }
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
        if gift.object.connection == nil { remember(gift) }
    }

    private func remember(_ gift: Gift) {
        held.value.append(gift)
        if held.value.count > 3 { held.value.removeFirst() }
    }

    func give(_ sender: Int, _ number: Int) -> Gift {
        arrived(sender, number)
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
        let identity: Int = try await gift.object.identify()
        if identity != gift.identity { world.complain("object \(gift.identity) answered as \(identity)") }
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

/// The peers, their connections and the oracle.
private final class World: @unchecked Sendable {
    // One thread runs the loop and everything else.
    let loop: ManualLoop
    let random: Cell<SeededGenerator>
    let complaints = Cell<[String]>([])
    let begun = Cell(0)
    let finished = Cell(0)
    private let identities = Cell(0)
    private let numbers = Cell<[Int: Int]>([:])
    private(set) var links: [Connection] = []

    init(seed: UInt64) {
        loop = ManualLoop(seed: seed)
        random = Cell(SeededGenerator(seed: seed))
    }

    func complain(_ text: String) { complaints.value.append(text) }

    func node() -> Node {
        identities.value += 1
        return Node(identity: identities.value, world: self)
    }

    /// Added to a client's number for the tasks that run in parallel to its own.
    static let besides = 100

    static func client(_ sender: Int) -> Int { sender < 0 ? sender : sender % besides }

    func next(_ sender: Int) -> Int {
        let client = Self.client(sender)
        numbers.value[client, default: 0] += 1
        return numbers.value[client, default: 0]
    }

    /// A reference to an object of this peer is the object itself.
    func check(_ gift: Gift) {
        if let node = gift.object.local(as: Node.self), node.identity != gift.identity {
            complain("object \(gift.identity) came home as \(node.identity)")
        }
    }

    func run() {
        let parties = Int.random(in: 2...3, using: &random.value)
        for one in 0..<parties {
            for other in (one + 1)..<max(parties, one + 1) { connect(one, other) }
        }
        loop.runUntilIdle()
        for (index, link) in links.enumerated() { client(of: link, number: index) }
        // Deadlines expire whenever there is nothing else to do.
        for _ in 0..<64 {
            loop.runUntilIdle()
            loop.advance(by: .milliseconds(7))
        }
        loop.runUntilIdle()
    }

    private func connect(_ one: Int, _ other: Int) {
        var configuration = Connection.Configuration()
        configuration.loop = loop
        configuration.limits.queuedCalls = [1, 2, 5, 64].randomElement(using: &random.value) ?? 1
        configuration.handshakeTimeout = .seconds(60)
        configuration.errorTypes = [NotFound.self]
        configuration.onEvent = { [self] event in
            // Calls may fail when a connection is cut, but no side ever breaks the protocol.
            switch event.end {
            case .protocolViolation(let text), .refused(let text): complain(text)
            default: break
            }
        }
        let (first, second) = MemoryLink.pair(
            seed: random.value.next(), capacity: [64, 700, 65_536].randomElement(using: &random.value) ?? 64)
        do {
            configuration.name = "\(one)-\(other)"
            let here = try Connection.make(first, configuration, isInitiator: true)
            configuration.name = "\(other)-\(one)"
            let there = try Connection.make(second, configuration, isInitiator: false)
            for link in [here, there] {
                link.vend(node())
                links.append(link)
                link.begin()
            }
        } catch {
            complain("\(error)")
        }
    }

    private func client(of link: Connection, number: Int) {
        Task(executorPreference: loop) { [self] in
            begun.value += 1
            var known: [Gift] = []
            do {
                let root = try await link.root
                known = [Gift(identity: try await root.identify(), object: root)]
            } catch {
                if !(error is ConnectionError) { complain("\(error)") }
            }
            for _ in 0..<Int.random(in: 5...40, using: &random.value) where !known.isEmpty {
                await step(link, number, &known)
            }
            known = []
            finished.value += 1
        }
    }

    private func step(_ link: Connection, _ sender: Int, _ known: inout [Gift]) async {
        guard let target = known.randomElement(using: &random.value), target.object.connection != nil else { return }
        switch Int.random(in: 0..<24, using: &random.value) {
        case 0, 14...17: if known.count > 1 { known.removeLast() }
        case 1: if Int.random(in: 0..<10, using: &random.value) == 0 { link.invalidate() }
        case 2...6: spawn(target, sender) { try await self.send($0, sender + Self.besides) }
        case 7...9: await attempt { try await target.object.note.oneWay(sender, self.next(sender)) }
        case 10...12: await attempt { if let gift = try await self.ask(target, sender) { known.append(gift) } }
        case 13: await attempt { try await target.object.note.oneWay(sender, self.next(sender)) }
        default: await attempt { try await self.send(target, sender) }
        }
        if known.count > 6 { known.remove(at: 1) }
    }

    /// A call that runs in parallel, and may be cancelled.
    private func spawn(_ target: Gift, _ sender: Int, _ body: @escaping @Sendable (Gift) async throws -> Void) {
        let isCancelled = Bool.random(using: &random.value)
        let gift = Cell(target)
        let task = Task(executorPreference: loop) { [self] in await attempt { try await body(gift.value) } }
        guard isCancelled else { return }
        let pauses = Int.random(in: 0..<6, using: &random.value)
        Task(executorPreference: loop) {
            for _ in 0..<pauses { await Task.yield() }
            task.cancel()
        }
    }

    private func attempt(_ body: () async throws -> Void) async {
        begun.value += 1
        do {
            try await body()
        } catch is CancellationError {
        } catch is ConnectionError {
        } catch is NotFound {
        } catch {
            complain("\(error)")
        }
        finished.value += 1
    }

    private func ask(_ target: Gift, _ sender: Int) async throws -> Gift? {
        let gift: Gift = try await target.object.give(sender, next(sender))
        check(gift)
        let identity: Int = try await gift.object.identify()
        if identity != gift.identity { complain("object \(gift.identity) answered as \(identity)") }
        return gift.object.connection == nil ? nil : gift
    }

    private func send(_ target: Gift, _ sender: Int) async throws {
        let object = target.object
        let own = node()
        let isHome = Int.random(in: 0..<3, using: &random.value) == 0
        let gift = isHome ? target : Gift(identity: own.identity, object: DistantObject(standingFor: own))
        switch Int.random(in: 0..<8, using: &random.value) {
        case 0, 1:
            let number = next(sender)
            let back: Int = try await object.answer(sender, number)
            if back != number { complain("answer \(back) to \(number)") }
        case 2:
            let number = next(sender)
            let back: Int = try await object.think(sender, number, Int.random(in: 0..<9, using: &random.value))
            if back != number { complain("answer \(back) to \(number)") }
        case 3: try await object.keep(sender, next(sender), gift)
        case 4:
            let _: Int = try await object.callBack(
                sender, next(sender), gift, Int.random(in: 0..<4, using: &random.value))
        case 5: try await object.fail(sender, next(sender))
        case 6:
            let size = [10, 3_000, 70_000, 200_000].randomElement(using: &random.value) ?? 0
            let bytes = [UInt8](repeating: UInt8(truncatingIfNeeded: size), count: size)
            let back: [UInt8] = try await object.bytes(sender, next(sender), bytes)
            if back != bytes { complain("\(size) bytes came back changed") }
        default:
            let _: Int = try await object.message("think").call(
                sender, next(sender), 40, deadline: .milliseconds(Int.random(in: 1..<30, using: &random.value)))
        }
    }
}
