import DistantObjects
import PortTransport
import Synchronization

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// One task or thread that sends everything there is to send, in an order that follows from a seed.
struct Traffic {
    let connection: Connection
    let host: Remote<HostInterface>
    /// This side's own, for callbacks.
    let own: Host
    let settings: RoundSettings
    var random: SeededGenerator

    enum Operation: CaseIterable {
        case exchange, exchangeLarge, exchangeData, nested, share, promises, oneWays, items, itemsCutShort, children
        case collect, graph, cancelled, cancelledTogether, late
    }

    /// Sends until the time is over.
    ///
    /// - Returns: The number of operations.
    mutating func run(until end: ContinuousClock.Instant) async -> UInt64 {
        var count: UInt64 = 0
        while ContinuousClock.now < end {
            let operation = Operation.allCases[random.below(Operation.allCases.count)]
            do { try await perform(operation) } catch { Verdict.fail("\(operation): \(error)") }
            count += 1
            Verdict.operations.add(1, ordering: .relaxed)
        }
        return count
    }

    /// A size: each order of magnitude is as likely as the others.
    private mutating func size(_ most: Int) -> Int {
        let bits = random.below(Int.bitWidth - most.leadingZeroBitCount + 1)
        return min(most, random.below(1 << bits))
    }

    /// A size that half of the time is too large for one frame.
    private mutating func largeSize() -> Int {
        let smallest = 62_000
        return random.below(2) == 0 ? smallest + random.below(settings.most - smallest) : size(settings.most)
    }

    private mutating func perform(_ operation: Operation) async throws {
        let seed = random.next()
        switch operation {
        case .exchange: try await exchange(seed, size(5_000), size(5_000))
        case .exchangeLarge: try await exchange(seed, largeSize(), largeSize())
        case .exchangeData:
            let (sent, wanted) = (size(settings.most / 4), size(settings.most / 4))
            let answer = try await host.exchangeData(seed, Data(Pattern.bytes(seed, sent)), wanted)
            Pattern.check(answer, Pattern.mixed(seed, 1), wanted, "the answer of exchangeData")
        case .nested:
            let depth = 1 + random.below(6)
            let last = try await host.nested(Remote(vending: own), seed, size(3_000), depth)
            let expected = (0..<depth).reduce(seed) { value, _ in Pattern.mixed(value, 2) }
            guard last == expected else { Verdict.fail("nested callbacks end with \(last) and not \(expected)") }
        case .share:
            let (sent, wanted) = (size(settings.most), size(settings.most))
            let bytes = Pattern.bytes(seed, sent)
            let shared = try connection.withBlob(byteCount: sent) { $0.copyBytes(from: bytes) }
            let answer = try await host.share(shared, seed, wanted)
            Pattern.check([UInt8](answer), Pattern.mixed(seed, 1), wanted, "the answer of share")
            Pattern.check([UInt8](shared), seed, sent, "shared bytes that were sent")
        case .promises: try await promises(seed)
        case .oneWays:
            let notebook = try await host.notebook(seed)
            let count = 1 + random.below(60)
            for index in 0..<count { try await notebook.note.oneWay(index, Pattern.item(seed, index)) }
            let found = try await notebook.count()
            guard found == count else { Verdict.fail("\(found) of \(count) one-way messages have come") }
        case .items, .itemsCutShort:
            try await items(seed, 1 + random.below(200), isCutShort: operation == .itemsCutShort)
        case .children:
            let count = 1 + random.below(20)
            var index = 0
            for try await child in try await host.children(seed, count) {
                let number = try await child.number()
                guard number == Pattern.mixed(seed, index) else { Verdict.fail("child \(index) of a stream") }
                index += 1
            }
            guard index == count else { Verdict.fail("\(index) of \(count) children came") }
        case .collect:
            let count = random.below(100)
            let stream = DistantStream<[UInt8]> { writer in
                for index in 0..<count { try await writer.send(Pattern.item(seed, index)) }
            }
            let found = try await host.collect(stream, seed, count)
            guard found == count else { Verdict.fail("\(found) of \(count) items were collected") }
        case .graph:
            let answer = try await host.graph(Graph(seed), seed)
            answer.check(Pattern.mixed(seed, 1))
        case .cancelled: await cancelled(seed, largeSize(), size(settings.most), after: random.below(2_000))
        case .cancelledTogether:
            let calls = (0..<8).map { _ in (random.next(), largeSize(), random.below(1_000)) }
            await withTaskGroup(of: Void.self) { group in
                for (seed, sent, delay) in calls {
                    group.addTask { [self] in await cancelled(seed, sent, 10, after: delay) }
                }
            }
        case .late:
            let (sent, wanted) = (size(settings.most), size(settings.most))
            do {
                let answer = try await host.slow(
                    seed, Pattern.bytes(seed, sent), wanted, timeout: .microseconds(100 + random.below(5_000)))
                Pattern.check(answer, Pattern.mixed(seed, 1), wanted, "an answer in time")
            } catch let error as ConnectionError where error.code == .deadlineExceeded {}
        }
    }

    private func exchange(_ seed: UInt64, _ sent: Int, _ wanted: Int) async throws {
        let answer = try await host.exchange(seed, Pattern.bytes(seed, sent), wanted)
        Pattern.check(answer, Pattern.mixed(seed, 1), wanted, "the answer of exchange")
    }

    private mutating func promises(_ seed: UInt64) async throws {
        let depth = 1 + random.below(5)
        var child = host
        for index in 0..<depth { child = child.child.promise(Pattern.mixed(seed, index)) }
        let number = try await child.number()
        var expected = hostNumber
        for index in 0..<depth { expected = Pattern.mixed(expected, Pattern.mixed(seed, index)) }
        guard number == expected else { Verdict.fail("a promised child has the number \(number) and not \(expected)") }
    }

    /// The number of the root of each side.
    static let rootNumber: UInt64 = 77
    private var hostNumber: UInt64 { Self.rootNumber }

    private mutating func items(_ seed: UInt64, _ count: Int, isCutShort: Bool) async throws {
        let most = isCutShort ? random.below(count) : count
        let stream = try await host.items(seed, count)
        var index = 0
        for try await item in stream {
            guard item == Pattern.item(seed, index) else { Verdict.fail("item \(index) of a stream") }
            index += 1
            if isCutShort, index > most { return }
        }
        guard index == count else { Verdict.fail("\(index) of \(count) items came") }
        let last = try await stream.final
        guard last == Pattern.mixed(seed, count) else { Verdict.fail("the final value of a stream") }
    }

    private func cancelled(_ seed: UInt64, _ sent: Int, _ wanted: Int, after microseconds: Int) async {
        let call = Task { [host] in try await host.slow(seed, Pattern.bytes(seed, sent), wanted) }
        try? await Task.sleep(for: .microseconds(microseconds))
        call.cancel()
        switch await call.result {
        case .success(let answer):
            Pattern.check(answer, Pattern.mixed(seed, 1), wanted, "an answer before the cancellation")
        case .failure(is CancellationError): break
        case .failure(let error as ConnectionError) where error.code == .cancelled: break
        case .failure(let error): Verdict.fail("a cancelled call: \(error)")
        }
    }

    /// Sends calls from a thread without a task, until the time is over.
    mutating func block(until end: ContinuousClock.Instant) -> UInt64 {
        var count: UInt64 = 0
        while ContinuousClock.now < end {
            let seed = random.next()
            let (sent, wanted) = (size(random.below(4) == 0 ? settings.most : 2_000), size(2_000))
            do {
                let answer = try host.exchange.blocking(seed, Pattern.bytes(seed, sent), wanted)
                Pattern.check(answer, Pattern.mixed(seed, 1), wanted, "the answer of a blocking call")
            } catch { Verdict.fail("a blocking call: \(error)") }
            count += 1
            Verdict.operations.add(1, ordering: .relaxed)
        }
        return count
    }
}
