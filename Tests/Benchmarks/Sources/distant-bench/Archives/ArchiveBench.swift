import CFloor
import Foundation

/// `distant-bench archive`: writes and reads archives, compared with other coders in the same run.
struct ArchiveBench {
    let options: ArchiveOptions
    let executable: String

    /// Failed measurements are reported on standard error at once; the others continue.
    ///
    /// - Returns: Whether everything was measured.
    func run() async -> Bool {
        var isComplete = true
        // Ratios mean most if nothing but the measured work differs.
        _ = floorPlace(floorLastCore())
        for work in options.works {
            alarm(600)
            do {
                try await measure(work)
            } catch {
                isComplete = false
                complain("\(work.rawValue): \(error)")
            }
        }
        return isComplete
    }

    private func measure(_ work: ArchiveWork) async throws {
        switch work {
        case .objects: try await ObjectSamples(foos: 10_000).measure(self)
        case .codable: try await CodableSamples(foos: 10_000).measure(self)
        case .data: try await DataSamples(bytes: 64 << 20).measure(self)
        case .open: try await OpenSamples().measure(self)
        case .chain: try ChainSamples().measure(self)
        case .bodies: try await BodySamples(count: 10_000).measure(self)
        case .memory: try MemorySamples(isQuick: options.isQuick).measure(self)
        }
    }

    /// Measures several ways to do the same work in turns, and prints a line for each.
    ///
    /// - Parameter against: The format of the way to compare the others with.
    func compare(
        _ work: String, metric: String, against: String?, higherIsBetter: Bool = false, _ ways: [ArchiveWay]
    ) async throws {
        let results = try await interleaved(rounds: options.rounds, ways.map(\.sample))
        let other = zip(ways, results).first { $0.0.format == against }?.1.median
        for (way, value) in zip(ways, results.map(\.median)) {
            let ratio = way.format == against ? nil : other.map { higherIsBetter ? value / $0 : $0 / value }
            ArchiveLine(
                work: work, format: way.format, metric: metric, value: value, against: ratio.flatMap { _ in against },
                ratio: ratio
            ).print()
        }
    }
}

/// One way to do some work.
struct ArchiveWay {
    let format: String
    let sample: () async throws -> Double

    init(_ format: String, _ sample: @escaping () throws -> Double) {
        self.format = format
        self.sample = sample
    }

    /// A way whose sample is the time of making a result, for each object; the time of freeing it is not counted.
    ///
    /// Short work is repeated until the clock's resolution and the state of the caches no longer matter.
    static func nanoseconds<Made>(
        _ format: String, perObject count: Int, _ body: @escaping () throws -> Made
    ) -> ArchiveWay {
        ArchiveWay(format) {
            var repeats = 0
            var spent: UInt64 = 0
            repeat {
                try autoreleasepool {
                    let start = processorTime()
                    let made = try body()
                    spent += processorTime() - start
                    withExtendedLifetime(made) {}
                }
                repeats += 1
            } while spent < 20_000_000
            return Double(spent) / Double(repeats * count)
        }
    }
}

#if !canImport(Darwin)
    /// Linux has no pool to drain.
    private func autoreleasepool(invoking body: () throws -> Void) rethrows { try body() }
#endif

/// Nanoseconds of processor time: other programs disturb it less than wall-clock time.
func processorTime() -> UInt64 {
    var time = timespec()
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
}

/// One result: a JSON object on a separate line.
struct ArchiveLine {
    var work: String
    var format: String
    var metric: String
    var value: Double
    /// The format it is compared with.
    var against: String?
    /// How many times better it is.
    var ratio: Double?

    func print() {
        var text =
            "{\"work\":\"\(work)\",\"format\":\"\(format)\",\"metric\":\"\(metric)\",\"value\":\(Line.number(value))"
        if let against { text += ",\"against\":\"\(against)\",\"ratio\":\(Line.number(ratio))" }
        put(text + "}")
    }
}
