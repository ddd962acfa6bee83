import PortTransport

/// Whether threads that wait for the peer poll for a moment before they sleep.
///
/// A thread that polls finds an answer at once. One that sleeps has to be woken, which takes tens of microseconds if the
/// peer runs on another processor. But a thread that polls uses a processor.
public enum ConnectionPolling: Sendable, Hashable {
    /// Threads sleep at once.
    case off
    /// Threads poll, for 50 microseconds at most, while that pays.
    ///
    /// A thread polls as long as answers come while it polls, and calls follow each other at once. At most one thread of the
    /// process polls at a time. None does while the process may use only one processor, or shares its processors with
    /// threads that are busy. An idle connection costs nothing.
    case adaptive
    /// Threads poll for that long each time, even if other threads need the processor.
    ///
    /// This is for programs that have processors to themselves.
    case always(for: Duration)

    package var mode: PollingMode {
        switch self {
        case .off: .off
        case .adaptive: .adaptive
        case .always(let duration): .always(duration)
        }
    }
}
