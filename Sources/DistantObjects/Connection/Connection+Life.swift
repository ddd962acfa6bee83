import PortTransport

extension Connection {
    /// The waiters, hooks and timers for the handshake and the end of a connection.
    struct Life {
        /// What is needed until both sides have accepted each other.
        final class Opening: @unchecked Sendable {  // Guarded by the lock of the life.
            fileprivate let configuration: SharedConfiguration
            var waiter: CheckedContinuation<Void, any Error>?
            var hook: (@Sendable (Bool) -> Void)?
            var timer: TimerToken?

            fileprivate init(_ configuration: SharedConfiguration) { self.configuration = configuration }
        }

        private enum Handshake {
            case running(Opening)
            case failed(any Error)
            case succeeded
        }

        /// What most connections need only at their end.
        private struct Ending {
            var goodbyeTimer: TimerToken?
            var keepaliveTimer: TimerToken?
            var dropTimer: TimerToken?
            var end: ConnectionEnd?
            var decision: ConnectionEnd?
            var waiting: [CheckedContinuation<ConnectionEnd, Never>] = []
            var endHandlers: [UInt64: @Sendable (ConnectionEnd) -> Void] = [:]
            var registrations: UInt64 = 0
        }

        private var handshake: Handshake
        private var ending = Rare<Ending>.missing
        /// The hook of the listener that has accepted the connection.
        var endHook: (@Sendable () -> Void)?

        init(opening configuration: SharedConfiguration) { handshake = .running(Opening(configuration)) }

        // MARK: The handshake

        /// Nil once the handshake has ended.
        var opening: Opening? { if case .running(let opening) = handshake { opening } else { nil } }

        /// The configuration, until the handshake has ended.
        var configuration: Configuration? { opening?.configuration.value }

        var handshakeOutcome: Result<Void, any Error>? {
            switch handshake {
            case .running: nil
            case .failed(let error): .failure(error)
            case .succeeded: .success(())
            }
        }

        /// Ends the handshake.
        ///
        /// - Returns: Those who wait for that; nil if it has ended before.
        mutating func endHandshake(_ error: (any Error)?) -> Opening? {
            guard let opening else { return nil }
            handshake = error.map { .failed($0) } ?? .succeeded
            return opening
        }

        // MARK: The end

        /// Limits how long the peer may keep the stream open after its Goodbye.
        var goodbyeTimer: TimerToken? {
            get { ending.value?.goodbyeTimer }
            set { ending.change(orNew: Ending()) { $0.goodbyeTimer = newValue } }
        }
        var keepaliveTimer: TimerToken? {
            get { ending.value?.keepaliveTimer }
            set { ending.change(orNew: Ending()) { $0.keepaliveTimer = newValue } }
        }
        var dropTimer: TimerToken? {
            get { ending.value?.dropTimer }
            set { ending.change(orNew: Ending()) { $0.dropTimer = newValue } }
        }
        var end: ConnectionEnd? {
            get { ending.value?.end }
            set { ending.change(orNew: Ending()) { $0.end = newValue } }
        }
        /// The reason of this side for ending the connection, if it did.
        var decision: ConnectionEnd? {
            get { ending.value?.decision }
            set { ending.change(orNew: Ending()) { $0.decision = newValue } }
        }
        var waiting: [CheckedContinuation<ConnectionEnd, Never>] {
            get { ending.value?.waiting ?? [] }
            set { ending.change(orNew: Ending()) { $0.waiting = newValue } }
        }
        /// What users want to be called at the end, by registration.
        var endHandlers: [UInt64: @Sendable (ConnectionEnd) -> Void] {
            get { ending.value?.endHandlers ?? [:] }
            set { ending.change(orNew: Ending()) { $0.endHandlers = newValue } }
        }
        /// The number of registrations so far.
        var registrations: UInt64 {
            get { ending.value?.registrations ?? 0 }
            set { ending.change(orNew: Ending()) { $0.registrations = newValue } }
        }
    }
}
