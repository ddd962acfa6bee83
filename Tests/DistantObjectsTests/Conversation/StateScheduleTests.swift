import TestSupport
import Testing

@testable import DistantObjects
@testable import PortTransport

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Two states, and the frames between them in any order that a stream allows.
///
/// The seed determines everything. A failing test prints its seed; `DISTANT_SEED=n swift test --filter StateSchedule`
/// repeats it.
@Suite("The state: random schedules")
struct StateScheduleTests {
    static let seeds: [UInt64] = {
        if let one = TestSeed.given { return [one] }
        let count = ProcessInfo.processInfo.environment["DISTANT_SEEDS"].flatMap { UInt64($0) } ?? 60
        let start = TestSeed.next()
        return (0..<count).map { start + $0 }
    }()

    @Test("Each call ends once, in its object's order, and every table is empty at the end", arguments: seeds)
    func scheduleInStateSchedule(seed: UInt64) throws {
        var schedule = try Schedule(seed: seed)
        try schedule.run()
    }

    @Test(
        "A close while anything is under way ends each call once, and what failed as not taken never starts",
        arguments: seeds)
    func closingInStateSchedule(seed: UInt64) throws {
        var schedule = try Schedule(seed: seed)
        try schedule.runClosing()
    }
}

private struct Schedule {
    private let seed: UInt64
    private var random: SeededGenerator
    private let sides: [StateSide]
    /// The frames under way to each side.
    private var streams: [[StateFrame]] = [[], []]
    /// The waiters and tickets of each side's calls under way.
    private var open: [[(waiter: Int, ticket: Ticket)]] = [[], []]
    private var begun: [Int] = [0, 0]
    private var lastStarted: [Route: UInt64] = [:]
    /// The promises of each side, each with a number of its own.
    private var promises: [[(number: Int, proxy: StateProxy)]] = [[], []]
    private var promised = 0
    /// What messages were sent to whose order counts: an object, or a promise of it.
    private enum Route: Hashable {
        case object(ObjectIdentifier)
        case promise(String)
    }

    private let gifts = (0..<4).map { _ in StateObject() }
    /// The frames of streams that each side has taken last.
    private var taken: [ObjectIdentifier: StreamItems] = [:]
    /// The items that were sent and taken, by their stream's source or its inbox.
    private var itemsTaken = 0
    private var itemsSent = 0
    /// Whether each side has written its Goodbye.
    ///
    /// The channel drops what is written later.
    private var hasEnded = [false, false]
    /// The openers of each side's calls that were written at once, by waiter.
    private var openers: [[Int: UInt64]] = [[:], [:]]
    /// The openers of the calls that each side has started.
    private var startedOpeners: [Set<UInt64>] = [[], []]
    /// The one-way messages that each side has sent, and those it has started.
    private var oneWays = [0, 0]
    private var startedOneWays = [0, 0]

    init(seed: UInt64) throws {
        self.seed = seed
        random = SeededGenerator(seed: seed)
        var limits = ConnectionLimits()
        limits.queuedCalls = Int.random(in: 1...8, using: &random)
        limits.runningCalls = Int.random(in: 1...8, using: &random)
        let (client, server) = try StateSide.pair(limits: limits)
        sides = [client, server]
    }

    mutating func run() throws {
        for _ in 0..<400 { try step() }
        promises = [[], []]
        // Delivers, runs and answers everything that is left.
        while try settle() {}
        for index in sides.indices { try check(sides[index], begun[index]) }
        try close()
    }

    /// A run in which a side, or both, begin to close in the middle.
    mutating func runClosing() throws {
        let closings = (0..<Int.random(in: 1...2, using: &random)).map { _ in Int.random(in: 0..<400, using: &random) }
        for index in 0..<400 {
            for _ in closings.filter({ $0 == index }) { beginClosing(Int.random(in: 0...1, using: &random)) }
            try step()
        }
        promises = [[], []]
        while try settle() {}
        for index in sides.indices { checkClosed(index) }
    }

    private mutating func step() throws {
        let index = Int.random(in: 0...1, using: &random)
        let side = sides[index]
        switch Int.random(in: 0..<19, using: &random) {
        case 0, 1, 2: try call(index)
        case 3: if !side.state.session.isEnded, try side.offer() { oneWays[index] += 1 }
        case 4: giveUp(index)
        case 5, 6, 7: try deliver(to: index)
        case 8: start(index)
        case 9: try answer(index)
        case 10: release(index)
        case 11: try promise(index)
        case 12: promises[index].indices.randomElement(using: &random).map { _ = promises[index].remove(at: $0) }
        case 13, 14: try produce(index)
        case 15, 16: try read(index)
        default:
            let kind: FrameKind = Bool.random(using: &random) ? .ping : .barrier
            if !side.state.session.outbox.isClosed { side.state.send(kind) }
        }
    }

    private mutating func call(_ index: Int) throws {
        guard !sides[index].state.session.isEnded else { return }
        let waiter = begun[index]
        begun[index] += 1
        let message: OutboundMessage
        let promise = promises[index].randomElement(using: &random)
        if let promise, Bool.random(using: &random) {
            message = try StateSide.message("promise \(promise.number)", toPromise: promise.proxy)
        } else if let promise, Bool.random(using: &random) {
            message = try StateSide.message("takeObject") { try $0.encode(promise.proxy) }
        } else if Bool.random(using: &random), let gift = gifts.randomElement(using: &random) {
            message = try StateSide.message("takeObject") { try $0.encode(gift) }
        } else if Int.random(in: 0..<10, using: &random) == 0 {
            message = try StateSide.message("take") { try $0.encode(String(repeating: "x", count: 70_000)) }
        } else if Bool.random(using: &random) {
            message = try StateSide.message(
                streams: (0..<Int.random(in: 1...2, using: &random)).map { _ in StreamSource() })
        } else {
            message = try StateSide.message(waiter)
        }
        let ticket = try sides[index].call(waiter, message)
        open[index].append((waiter, ticket))
        if sides[index].state.questions.table.phase(of: ticket) == .sent {
            openers[index][waiter] = sides[index].state.sent
        }
    }

    private mutating func promise(_ index: Int) throws {
        guard !sides[index].state.session.isEnded else { return }
        let message: OutboundMessage
        if let promise = promises[index].randomElement(using: &random), Bool.random(using: &random) {
            message = try StateSide.message("promise \(promise.number)", toPromise: promise.proxy)
        } else {
            message = try StateSide.message()
        }
        promised += 1
        promises[index].append((promised, try sides[index].promise(message)))
    }

    /// What a promise of the other side becomes: an object of this side, of the other, or nothing.
    private mutating func outcome(_ side: StateSide) -> KeptAnswer.Outcome {
        switch Int.random(in: 0..<4, using: &random) {
        case 0: return .failed(CancellationError())
        case 1:
            let proxies = side.references.compactMap { $0 as? StateProxy }
            if let proxy = proxies.randomElement(using: &random), case .object = proxy.target { return .object(proxy) }
        default: break
        }
        return gifts.randomElement(using: &random).map { .object($0) } ?? .failed(CancellationError())
    }

    /// Sends items of a stream that has started, or ends it.
    private mutating func produce(_ index: Int) throws {
        let side = sides[index]
        side.started.removeAll { $0.life.hasEnded }
        guard let stream = side.started.randomElement(using: &random) else { return }
        guard Int.random(in: 0..<6, using: &random) > 0, stream.stop == nil else { return try side.end(stream) }
        guard stream.allowance > 0 else { return }
        let count = Int.random(in: 1...min(3, stream.allowance), using: &random)
        let size = Int.random(in: 0..<8, using: &random) == 0 ? 100_000 : 1
        if try side.send(count, of: stream, bytes: size).allowance != nil { itemsSent += count }
    }

    /// Begins to read a stream, takes its next frame, stops reading it, or passes it back.
    private mutating func read(_ index: Int) throws {
        let side = sides[index]
        let readers = side.references.compactMap { $0 as? StateStreamReader }
        guard let reader = readers.randomElement(using: &random) else { return }
        switch (reader.inbox.reading, Int.random(in: 0..<8, using: &random)) {
        case (_, 0): side.stop(reader.inbox)
        case (.unread, 1...3) where !side.state.session.isEnded:
            let waiter = begun[index]
            begun[index] += 1
            open[index].append((waiter, try side.call(waiter, StateSide.message(streams: [reader]))))
        case (.unread, _): _ = side.begin(reader.inbox)
        case (.reading, _): takeItems(reader.inbox, side)
        case (.done, _): break
        }
    }

    private mutating func takeItems(_ inbox: StreamInbox, _ side: StateSide) {
        let key = ObjectIdentifier(inbox)
        let next = side.next(inbox, after: taken.removeValue(forKey: key))
        guard let items = next.items else { return }
        taken[key] = items
        itemsTaken += items.count
    }

    private mutating func giveUp(_ index: Int) {
        guard let place = open[index].indices.randomElement(using: &random) else { return }
        let call = open[index].remove(at: place)
        sides[index].transition { state, actions in state.giveUp(call.ticket, CancellationError(), &actions) }
        react(index)
    }

    /// Delivers some of the other side's frames as one read.
    @discardableResult
    private mutating func deliver(to index: Int) throws -> Bool {
        streams[index] += written(by: 1 - index)
        let count = min(streams[index].count, Int.random(in: 1...6, using: &random))
        for frame in streams[index].prefix(count) { try sides[index].receive(frame) }
        streams[index].removeFirst(count)
        sides[index].endIteration()
        react(index)
        return count > 0
    }

    /// The frames that a side's channel sends of those that were written.
    private mutating func written(by index: Int) -> [StateFrame] {
        let frames = sides[index].takeFrames()
        guard !hasEnded[index] else { return [] }
        guard let last = frames.firstIndex(where: { $0.form == .last }) else { return frames }
        hasEnded[index] = true
        return Array(frames[...last])
    }

    /// What a host does after a transition that concerns the close.
    private func react(_ index: Int) {
        let side = sides[index]
        let done = side.done
        side.done = []
        if done.contains("goodbye") {
            side.transition { state, actions in state.failUnanswered(side.host, "x", &actions) }
            beginClosing(index)
        }
        if done.contains("close if idle") { _ = side.sayGoodbyeIfIdle() }
    }

    private func beginClosing(_ index: Int) {
        sides[index].beginClosing()
        _ = sides[index].sayGoodbyeIfIdle()
    }

    @discardableResult
    private mutating func start(_ index: Int) -> Bool {
        guard let call = sides[index].start() else { return false }
        // What is sent to a promise has an order of its own: the object may have got other messages before.
        let name = call.message.name
        let route = name.hasPrefix("promise") ? Route.promise(name) : .object(ObjectIdentifier(call.export.object))
        #expect(lastStarted[route] ?? 0 < call.number, "seed \(seed): messages to \(route) changed their order")
        lastStarted[route] = call.number
        startedOpeners[index].insert(call.number)
        if call.question == nil { startedOneWays[index] += 1 }
        return true
    }

    @discardableResult
    private mutating func answer(_ index: Int) throws -> Bool {
        guard let call = sides[index].running.randomElement(using: &random) else { return false }
        if call.question == nil {
            sides[index].endOneWay(call)
        } else {
            let kept = call.flags.contains(.keepAnswer) ? outcome(sides[index]) : nil
            try sides[index].answer(call, keeping: kept)
        }
        if sides[index].state.phase == .closing { _ = sides[index].sayGoodbyeIfIdle() }
        return true
    }

    /// Releases the references of messages, except those of waiting or running calls.
    @discardableResult
    private mutating func release(_ index: Int) -> Bool {
        sides[index].references = []
        return sides[index].release()
    }

    private mutating func settle() throws -> Bool {
        var moved = false
        for index in sides.indices {
            while try deliver(to: index) { moved = true }
            while start(index) { moved = true }
            while try answer(index) { moved = true }
            for stream in sides[index].started where stream.life.isRunning {
                try sides[index].end(stream)
                moved = true
            }
            if release(index) { moved = true }
        }
        return moved
    }

    private func check(_ side: StateSide, _ begun: Int) throws {
        #expect(side.state.session.streams.isEmpty && itemsTaken <= itemsSent, "seed \(seed): a stream is left")
        #expect(side.answers.count + side.failures.count == begun, "seed \(seed): a call ended twice or never")
        #expect(Set(side.answers.keys).isDisjoint(with: side.failures.keys), "seed \(seed)")
        #expect(side.state.serving.runningCalls == 0 && side.state.serving.unfinished == 0, "seed \(seed)")
        #expect(
            side.state.questions.table.count == 0 && side.state.serving.answers.count == 0,
            "seed \(seed): a question is left")
        #expect(
            side.state.questions.table.promises == 0 && side.state.serving.answers.keptCount == 0,
            "seed \(seed): an answer is left")
        #expect(
            side.state.questions.pending.isEmpty && side.state.serving.ready.isEmpty
                && side.state.session.large.arriving.isEmpty, "seed \(seed)")
        #expect(side.state.session.references.exports.lingeringCount == 0, "seed \(seed): a mailbox is left")
        #expect(
            side.state.session.references.importCount == 0 && side.state.session.references.exports.count == 0,
            "seed \(seed): a reference is left")
    }

    /// Checks a side after both have closed.
    private func checkClosed(_ index: Int) {
        let side = sides[index]
        #expect(
            side.state.session.outbox.isClosed && side.state.session.life.peerSaidGoodbye,
            "seed \(seed): no Goodbye came")
        end(side)
        // Promises have no waiter.
        let failures = side.failures.filter { $0.key >= 0 }
        #expect(side.answers.count + failures.count == begun[index], "seed \(seed): a call ended twice or never")
        #expect(Set(side.answers.keys).isDisjoint(with: failures.keys), "seed \(seed)")
        for (waiter, code) in failures {
            // Each side answers all that it has entered before its Goodbye.
            let isExpected = [.cancelled, .notSent, .notDelivered].contains(code)
            #expect(isExpected, "seed \(seed): call \(waiter) failed by \(code)")
            guard code != .cancelled, let opener = openers[index][waiter] else { continue }
            #expect(!startedOpeners[1 - index].contains(opener), "seed \(seed): call \(waiter) was started: \(code)")
        }
        let lost = oneWays[index] - startedOneWays[1 - index]
        #expect(side.state.questions.oneWays.losses.count == lost, "seed \(seed): \(lost) one-way messages are lost")
    }

    private mutating func close() throws {
        beginClosing(0)
        for index in [1, 0] { try deliver(to: index) }
        for side in sides {
            #expect(side.state.session.outbox.isClosed && side.state.session.life.peerSaidGoodbye, "seed \(seed)")
            end(side)
        }
    }

    private func end(_ side: StateSide) {
        _ = side.transition { state, actions in state.endCalls(side.host, "x", &actions, because: .closedHere) }
        side.transition { state, actions in state.end(&actions) }
        #expect(side.isAtRest && side.state.phase == .ended, "seed \(seed): something is left")
    }
}
