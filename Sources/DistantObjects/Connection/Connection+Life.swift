import PortTransport

extension Connection {
    /// The waiters, hooks and timers for the handshake and the end of a connection.
    struct Life {
        /// State that is needed until both sides have accepted each other.
        final class Opening: @unchecked Sendable {  // Guarded by the lock of the life.
            let configuration: SharedConfiguration
            var waiter: UnsafeContinuation<Void, any Error>?
            var hook: (@Sendable (Bool) -> Void)?
            var timer: TimerToken?

            fileprivate init(_ configuration: SharedConfiguration) { self.configuration = configuration }
        }

        private enum Handshake {
            case running(Opening)
            case failed(any Error)
            case succeeded
        }

        /// State that most connections need only at their end.
        private final class Ending {
            var goodbyeTimer: TimerToken?
            var keepaliveTimer: TimerToken?
            var dropTimer: TimerToken?
            var end: ConnectionEnd?
            var waiting: [CheckedContinuation<ConnectionEnd, Never>] = []
            var endHandlers: [UInt64: @Sendable (ConnectionEnd) -> Void] = [:]
            var registrations: UInt64 = 0
        }

        private var handshake: Handshake
        private var ending: Ending?
        /// The hook of the listener that has accepted the connection.
        var endHook: (@Sendable () -> Void)?

        init(opening configuration: SharedConfiguration) { handshake = .running(Opening(configuration)) }

        // MARK: The handshake

        /// Nil once the handshake has ended.
        var opening: Opening? { if case .running(let opening) = handshake { opening } else { nil } }

        var handshakeOutcome: Result<Void, any Error>? {
            switch handshake {
            case .running: nil
            case .failed(let error): .failure(error)
            case .succeeded: .success(())
            }
        }

        /// Ends the handshake.
        ///
        /// - Returns: The waiters for the handshake; nil if it has ended before.
        mutating func endHandshake(_ error: (any Error)?) -> Opening? {
            guard let opening else { return nil }
            handshake = error.map { .failed($0) } ?? .succeeded
            return opening
        }

        // MARK: The end

        private mutating func madeEnding() -> Ending {
            if let ending { return ending }
            let made = Ending()
            ending = made
            return made
        }

        /// Limits how long the peer may keep the stream open after its Goodbye.
        var goodbyeTimer: TimerToken? {
            get { ending?.goodbyeTimer }
            set { madeEnding().goodbyeTimer = newValue }
        }
        var keepaliveTimer: TimerToken? {
            get { ending?.keepaliveTimer }
            set { madeEnding().keepaliveTimer = newValue }
        }
        var dropTimer: TimerToken? {
            get { ending?.dropTimer }
            set { madeEnding().dropTimer = newValue }
        }
        var end: ConnectionEnd? {
            get { ending?.end }
            set { madeEnding().end = newValue }
        }
        var waiting: [CheckedContinuation<ConnectionEnd, Never>] {
            get { ending?.waiting ?? [] }
            _modify { yield &madeEnding().waiting }
        }
        /// The handlers that users have registered for the end, by registration.
        var endHandlers: [UInt64: @Sendable (ConnectionEnd) -> Void] {
            get { ending?.endHandlers ?? [:] }
            _modify { yield &madeEnding().endHandlers }
        }
        /// The number of registrations so far.
        var registrations: UInt64 {
            get { ending?.registrations ?? 0 }
            _modify { yield &madeEnding().registrations }
        }
    }
}
