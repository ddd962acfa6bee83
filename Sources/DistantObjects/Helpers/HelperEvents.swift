import Synchronization

/// The readers of a helper's events.
final class HelperEvents: Sendable {
    private struct State {
        /// What has happened before there was a reader, at most `bound`; nil once there was one.
        var early: [HelperEvent]? = []
        var readers: [UInt64: AsyncStream<HelperEvent>.Continuation] = [:]
        var number: UInt64 = 0
        var isOver = false
    }

    /// A reader that does not read keeps that many events, the latest.
    private static let bound = 256

    private let state = Mutex(State())

    func report(_ event: HelperEvent) {
        state.withLock { state in
            state.early?.append(event)
            if let count = state.early?.count, count > Self.bound { state.early?.removeFirst() }
            for reader in state.readers.values { reader.yield(event) }
        }
    }

    /// A new reader; the first one gets what has happened before it, too.
    func read() -> AsyncStream<HelperEvent> {
        let (stream, continuation) = AsyncStream<HelperEvent>.makeStream(bufferingPolicy: .bufferingNewest(Self.bound))
        let number = state.withLock { state -> UInt64? in
            for event in state.early ?? [] { continuation.yield(event) }
            state.early = nil
            guard !state.isOver else { return nil }
            state.number += 1
            state.readers[state.number] = continuation
            return state.number
        }
        guard let number else {
            continuation.finish()
            return stream
        }
        continuation.onTermination = { [weak self] _ in self?.remove(number) }
        return stream
    }

    private func remove(_ number: UInt64) {
        _ = state.withLock { $0.readers.removeValue(forKey: number) }
    }

    /// Ends all streams of events.
    func end() {
        let readers = state.withLock { state in
            state.isOver = true
            defer { state.readers = [:] }
            return state.readers
        }
        for reader in readers.values { reader.finish() }
    }
}
