import CFloor

/// Something that can be done through each of the ways to write a caller; each returns one sample.
struct Subject: Sendable {
    /// For `run` and `task`: the same code, on another executor.
    var suspending: @Sendable () async throws -> Double
    /// For `blocking`; nil where waiting makes no sense.
    var blocking: (@Sendable () throws -> Double)?
}

/// The median; the upper one of two.
func median(_ values: [Double]) -> Double {
    values.isEmpty ? .nan : values.sorted()[values.count / 2]
}

/// The median of nanoseconds, in microseconds.
func medianMicroseconds(_ nanoseconds: [UInt64]) -> Double {
    median(nanoseconds.map { Double($0) }) / 1000
}

/// Takes samples of all in turns, so that what disturbs the machine for a while disturbs each alike.
///
/// - Returns: the median over the rounds, in the order given.
func interleaved(rounds: Int, _ subjects: [() async throws -> Double]) async throws -> [Double] {
    // The first of each is thrown away: caches, page tables and learnt predictions are cold.
    for subject in subjects { _ = try await subject() }
    var samples = [[Double]](repeating: [], count: subjects.count)
    for _ in 0..<rounds {
        for (index, subject) in subjects.enumerated() { samples[index].append(try await subject()) }
    }
    return samples.map(median)
}

/// Runs `body` on a thread that belongs to no executor, as a program without tasks would.
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
