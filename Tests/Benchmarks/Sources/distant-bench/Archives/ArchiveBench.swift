import CFloor
import Foundation

/// `distant-bench archive`: writing and reading archives, beside other coders doing the same in the same run.
struct ArchiveBench {
    let options: ArchiveOptions
    let executable: String

    /// Works that fail are reported on standard error at once; the others are still measured.
    ///
    /// - Returns: whether every work was measured.
    func run() async -> Bool {
        var isComplete = true
        // Ratios mean most where nothing but the work differs.
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
        case .memory: try MemorySamples(isQuick: options.isQuick).measure(self)
        }
    }

    /// Measures ways to do a work in turns, and prints a line for each.
    ///
    /// - Parameter against: The way the others are compared with, by its format.
    func compare(
        _ work: String, metric: String, against: String?, higherIsBetter: Bool = false, _ ways: [ArchiveWay]
    ) async throws {
        let results = try await interleaved(rounds: options.rounds, ways.map(\.sample))
        let other = zip(ways, results).first { $0.0.format == against }?.1
        for (way, value) in zip(ways, results) {
            let ratio = way.format == against ? nil : other.map { higherIsBetter ? value / $0 : $0 / value }
            ArchiveLine(
                work: work, format: way.format, metric: metric, value: value, against: ratio.flatMap { _ in against },
                ratio: ratio
            ).print()
        }
    }
}

/// One way to do a work.
struct ArchiveWay {
    let format: String
    let sample: () async throws -> Double

    init(_ format: String, _ sample: @escaping () throws -> Double) {
        self.format = format
        self.sample = sample
    }

    /// A way whose sample is the time of making something, for each of the objects; that of freeing it is not counted.
    ///
    /// Short works are repeated until the clock's step and the caches' state no longer matter.
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
    /// There is no pool to drain here.
    private func autoreleasepool(invoking body: () throws -> Void) rethrows { try body() }
#endif

/// Nanoseconds this process has computed: who else uses the machine counts less than by the clock on the wall.
func processorTime() -> UInt64 {
    var time = timespec()
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
}

/// One result: a JSON object on a line of its own.
struct ArchiveLine {
    var work: String
    var format: String
    var metric: String
    var value: Double
    /// What it is compared with.
    var against: String?
    /// How many times better it is than that.
    var ratio: Double?

    func print() {
        var text =
            "{\"work\":\"\(work)\",\"format\":\"\(format)\",\"metric\":\"\(metric)\",\"value\":\(Line.number(value))"
        if let against { text += ",\"against\":\"\(against)\",\"ratio\":\(Line.number(ratio))" }
        put(text + "}")
    }
}
