/// When a ``Helper`` that has ended is started again.
///
/// The first restart is at once. The pauses before the next ones are 0.1 s, 0.4 s, 1.6 s and so on, until one has run for a minute.
/// A helper that ends too often is given up.
///
/// None of them restarts a helper that cannot become better: whose program cannot be executed, which exits with status 125, which
/// refuses the connection or whose interface does not fit, or which breaks the protocol twice in the same way.
///
/// A start that fails because the system lacks something for now, such as descriptors, does not count. It is tried again after the
/// same pauses, of at least 0.1 s, and given up if that lasts for the period of the policy.
public struct RestartPolicy: Sendable, Hashable {
    enum Kind: Sendable, Hashable {
        case never, onFailure, always
    }

    let kind: Kind
    /// The most restarts within `period`.
    let limit: Int
    let period: Duration
    let pauses: ClosedRange<Duration>

    /// The helper is started once; calls after its end fail.
    public static let never = RestartPolicy(kind: .never, limit: 0, period: .zero, pauses: .zero ... .zero)

    /// ``onFailure(limit:within:backoff:)`` with its defaults.
    public static let onFailure = onFailure()

    /// A helper that fails is started again.
    ///
    /// One that ends in order, with status 0, is started again by the next call.
    ///
    /// - Parameters:
    ///   - limit: The most restarts in the period; a helper that ends before it is connected counts twice. After that it is given up.
    ///   - period: The time in which ends are counted.
    ///   - backoff: The shortest and the longest pause before a restart.
    public static func onFailure(
        limit: Int = 5, within period: Duration = .seconds(180),
        backoff: ClosedRange<Duration> = .zero ... .seconds(30)
    ) -> RestartPolicy {
        RestartPolicy(kind: .onFailure, limit: limit, period: period, pauses: backoff)
    }

    /// ``always(limit:within:backoff:)`` with its defaults.
    public static let always = always()

    /// The helper is started again however it ends.
    ///
    /// - Parameters:
    ///   - limit: As in `onFailure`.
    ///   - period: As in `onFailure`.
    ///   - backoff: As in `onFailure`.
    public static func always(
        limit: Int = 5, within period: Duration = .seconds(180),
        backoff: ClosedRange<Duration> = .zero ... .seconds(30)
    ) -> RestartPolicy {
        RestartPolicy(kind: .always, limit: limit, period: period, pauses: backoff)
    }

    /// The pause before a restart.
    ///
    /// - Parameter count: The restarts since a helper has last run for long.
    func pause(after count: Int) -> Duration {
        guard count > 0 else { return pauses.lowerBound }
        var pause = Duration.milliseconds(100)
        var further = count - 1
        while further > 0, pause < pauses.upperBound {
            pause *= 4
            further -= 1
        }
        return min(max(pause, pauses.lowerBound), pauses.upperBound)
    }
}
