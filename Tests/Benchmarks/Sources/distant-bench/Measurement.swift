import CFloor

/// Work that can be done through each kind of API; each closure returns one sample.
struct Subject: Sendable {
    /// For `run` and `task`: the same code on different executors.
    var suspending: @Sendable () async throws -> Double
    /// For `blocking`; nil if blocking makes no sense.
    var blocking: (@Sendable () throws -> Double)?
}

/// What a row measured in its rounds.
struct Figure {
    var median: Double
    var least: Double
    var most: Double

    init(_ samples: [Double]) {
        median = distant_bench.median(samples)
        least = samples.min() ?? .nan
        most = samples.max() ?? .nan
    }

    /// The median of several passes, and the spread of all of them.
    init(_ passes: [Figure]) {
        median = distant_bench.median(passes.map(\.median))
        least = passes.map(\.least).min() ?? .nan
        most = passes.map(\.most).max() ?? .nan
    }
}

/// The median; the upper one of the middle two.
func median(_ values: [Double]) -> Double {
    values.isEmpty ? .nan : values.sorted()[values.count / 2]
}

/// The median of nanoseconds, in microseconds.
func medianMicroseconds(_ nanoseconds: [UInt64]) -> Double {
    median(nanoseconds.map { Double($0) }) / 1000
}

/// Takes samples of all subjects in turns, so that a disturbance of the machine affects all alike.
///
/// - Returns: The figure of each subject over the rounds, in the given order.
func interleaved(rounds: Int, _ subjects: [() async throws -> Double]) async throws -> [Figure] {
    // The first sample of each is discarded: caches, page tables and branch predictors are cold.
    for subject in subjects { _ = try await subject() }
    var samples = [[Double]](repeating: [], count: subjects.count)
    for _ in 0..<rounds {
        for (index, subject) in subjects.enumerated() { samples[index].append(try await subject()) }
    }
    return samples.map { Figure($0) }
}

/// Runs `body` on a thread that belongs to no executor, as in a program without tasks.
func onPlainThread<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
        let job = PlainJob { continuation.resume(with: Result(catching: body)) }
        let context = Unmanaged.passRetained(job).toOpaque()
        let error = floorRunThread(
            { context in
                guard let context else { return }
                Unmanaged<PlainJob>.fromOpaque(context).takeRetainedValue().body()
            }, context)
        if error != 0 {
            Unmanaged<PlainJob>.fromOpaque(context).release()
            continuation.resume(throwing: BenchError("no thread could be started: \(describe(error))"))
        }
    }
}

private final class PlainJob: Sendable {
    let body: @Sendable () -> Void

    init(_ body: @escaping @Sendable () -> Void) {
        self.body = body
    }
}
