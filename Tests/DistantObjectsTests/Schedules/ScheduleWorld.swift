import DistantObjects
import PortTransport
import TestSupport

/// The peers, their connections and the oracle.
final class ScheduleWorld: @unchecked Sendable {
    // One thread runs the loop and everything else.
    let loop: ManualLoop
    let random: Cell<SeededGenerator>
    let complaints = Cell<[String]>([])
    let begun = Cell(0)
    let finished = Cell(0)
    private let identities = Cell(0)
    private let numbers = Cell<[Int: Int]>([:])
    private let routeCount = Cell(0)
    /// The last number that arrived on each route.
    private let lastOnRoute = Cell<[Int: Int]>([:])
    private(set) var links: [Connection] = []

    init(seed: UInt64) {
        loop = ManualLoop(seed: seed)
        random = Cell(SeededGenerator(seed: seed))
    }

    func complain(_ text: String) { complaints.value.append(text) }

    func identity() -> Int {
        identities.value += 1
        return identities.value
    }

    func node() -> ScheduleNode { ScheduleNode(identity: identity(), world: self) }

    /// Added to a client's number for the tasks that run in parallel to its own.
    static let besides = 100

    static func client(_ sender: Int) -> Int { sender < 0 || sender >= routes ? sender : sender % besides }

    /// The first of the numbers that stand for a promise and the object it becomes, instead of a client.
    ///
    /// What one task sends there has an order, whatever other references to the object exist.
    static let routes = 1_000_000

    func newRoute() -> Int {
        routeCount.value += 1
        return Self.routes + routeCount.value
    }

    func arrived(_ number: Int, on route: Int) {
        let last = lastOnRoute.value[route, default: 0]
        if last >= number { complain("route \(route): message \(number) after \(last)") }
        lastOnRoute.value[route] = number
    }

    func next(_ sender: Int) -> Int {
        let client = Self.client(sender)
        numbers.value[client, default: 0] += 1
        return numbers.value[client, default: 0]
    }

    /// A reference to an object of this peer is the object itself.
    func check(_ gift: Gift) {
        if let node = gift.object.local(as: ScheduleNode.self), node.identity != gift.identity, gift.identity != 0 {
            complain("object \(gift.identity) came home as \(node.identity)")
        }
    }

    /// Asks an object who it is.
    func identify(_ gift: Gift) async throws {
        let identity: Int = try await gift.object.identify()
        if identity != gift.identity, gift.identity != 0 {
            complain("object \(gift.identity) answered as \(identity)")
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
            var promises: [PromisedGift] = []
            do {
                let root = try await link.root
                known = [Gift(identity: try await root.identify(), object: root)]
            } catch {
                if !(error is ConnectionError) { complain("\(error)") }
            }
            for _ in 0..<Int.random(in: 5...40, using: &random.value) where !known.isEmpty {
                if Bool.random(using: &random.value) {
                    await step(link, number, &known)
                } else {
                    await step(&promises, number, &known)
                }
            }
            (known, promises) = ([], [])
            finished.value += 1
        }
    }

    private func step(_ link: Connection, _ sender: Int, _ known: inout [Gift]) async {
        guard let target = known.randomElement(using: &random.value), target.object.connection != nil else { return }
        switch Int.random(in: 0..<24, using: &random.value) {
        case 0, 14...17: if known.count > 1 { known.removeLast() }
        case 1:
            switch Int.random(in: 0..<10, using: &random.value) {
            case 0: link.invalidate()
            case 1: close(link)
            default: break
            }
        case 2...6: spawn(target, sender) { try await self.send($0, sender + Self.besides) }
        case 7...9: await attempt { try await target.object.note.oneWay(sender, self.next(sender)) }
        case 10...12: await attempt { if let gift = try await self.ask(target, sender) { known.append(gift) } }
        case 13: await attempt { try await target.object.note.oneWay(sender, self.next(sender)) }
        default: await attempt { try await self.send(target, sender) }
        }
        if known.count > 6 { known.remove(at: 1) }
    }

    /// Closes a connection in order, whatever is under way, while its client goes on.
    private func close(_ link: Connection) {
        let limit = Duration.milliseconds(Int.random(in: 1..<300, using: &random.value))
        begun.value += 1
        Task(executorPreference: loop) { [self] in
            await link.close(timeout: limit)
            finished.value += 1
        }
    }

    /// A call that runs in parallel, and may be cancelled.
    func spawn(_ target: Gift, _ sender: Int, _ body: @escaping @Sendable (Gift) async throws -> Void) {
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

    func attempt(_ body: () async throws -> Void) async {
        begun.value += 1
        do {
            try await body()
        } catch is CancellationError {
        } catch is ConnectionError {
        } catch is NotFound {
        } catch let error as RemoteError where error.code != nil {
            // The method has called back, or read a stream, while its side closes.
        } catch {
            complain("\(error)")
        }
        finished.value += 1
    }

    func ask(_ target: Gift, _ sender: Int) async throws -> Gift? {
        let gift: Gift = try await target.object.give(sender, next(sender))
        check(gift)
        try await identify(gift)
        return gift.object.connection == nil ? nil : gift
    }

    /// - Parameter argument: An object to send; else the target itself or a new one.
    func send(_ target: Gift, _ sender: Int, with argument: Gift? = nil) async throws {
        let object = target.object
        let own = node()
        let isHome = Int.random(in: 0..<3, using: &random.value) == 0
        let gift = argument ?? (isHome ? target : Gift(identity: own.identity, object: DistantObject(standingFor: own)))
        switch Int.random(in: 0..<12, using: &random.value) {
        // A promise may be an object of this peer. Its streams would run on threads of their own.
        case 8...11 where (0..<Self.routes).contains(sender): try await stream(object)
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
            let _: Int = try await object.message("think")(
                sender, next(sender), 40, timeout: .milliseconds(Int.random(in: 1..<30, using: &random.value)))
        }
    }
}
