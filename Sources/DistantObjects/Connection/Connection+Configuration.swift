public import KeyedArchive
public import PortTransport
import Synchronization

extension Connection {
    /// What a connection allows and reports.
    ///
    /// Every value has a default that suits two processes of one user.
    public struct Configuration: Sendable {
        /// Bounds on what the peer can make this process hold.
        public var limits = Limits()
        /// Classes that may be made besides those the types of arguments name, and other names for classes.
        public var classes = ClassRegistry()
        /// Errors of the other process that arrive as themselves; others arrive as `RemoteError`.
        public var errorTypes: [any (Error & Codable).Type] = []
        /// Whether the text of errors that are not `Codable` is sent to the peer.
        ///
        /// Off: such texts often name files and
        /// values that are not the peer's business.
        public var exposesErrorText = false
        /// How long the handshake may take; a peer that connects and says nothing is not kept.
        public var handshakeTimeout = Duration.seconds(5)
        /// How long to wait for a root of the peer, unless the look-up says otherwise: a peer that vends nothing would be waited
        /// for without end.
        ///
        /// `nil`: as long as `callDeadline` says.
        public var lookupDeadline: Duration? = .seconds(60)
        /// How long to wait for the answer to a call, unless the call says otherwise; `nil`: as long as it takes.
        ///
        /// One-way messages have none.
        public var callDeadline: Duration?
        /// Asks a peer that has sent nothing for so long for a sign of life, and ends the connection when three such times have
        /// passed in silence; `nil`: not at all.
        ///
        /// For links that break without a word, as pipes to a program that leads to another machine. The death of a local
        /// peer is told by the system.
        public var keepalive: Duration?
        /// Who may be at the other end.
        public var accept = AcceptRule.sameUser
        /// How long the loop's thread looks for new bytes before it sleeps.
        ///
        /// `nil`: not at all. With two idle cores a call
        /// gets several times faster; on busy ones it takes time from others. Connections with one duration share a loop.
        public var spin: Duration?
        /// Whether a connection over a socket that is busy goes on in memory shared with the other process, if that wants it
        /// too and runs as the same user.
        ///
        /// A message then costs one system call less on each side, and none where both look for new bytes before they sleep
        /// (`spin`). Such a connection has two more descriptors on each side and 260 KiB of memory that belong to both
        /// processes, each of which does this for 512 connections at most. Linux alone has memory fit for that; elsewhere,
        /// and over pipes, nothing changes. Off for a peer that must not be able to make this process wait: see <doc:Trust>.
        public var sharesMemory = true
        /// Called with what happens to the connection, which is `Connection.current`, on the loop's thread, in order.
        ///
        /// Must not block. `threadsExhausted` comes on a thread of its own, since the loop has none left; `acceptPaused` and
        /// `tooManyConnections` are the listener's and of no connection.
        public var onEvent: (@Sendable (ConnectionEvent) -> Void)?
        /// A name for log lines; `nil`: where the peer was reached.
        public var name: String?
        /// What this program calls itself to the peer.
        public var programName = CommandLine.arguments.first.map { String($0.split(separator: "/").last ?? "") } ?? ""

        /// The loop tests drive by hand; `nil` for the process's own.
        package var loop: (any PortLoop)?
        /// From which traffic on a connection shares memory.
        package var busy = BusyTraffic()
        /// Whether the kernel is asked to refuse descriptors; false: as on one that cannot, for tests.
        package var asksKernel = true

        /// The defaults.
        public init() {}
    }

    /// A configuration with its limits in range, held once by all connections that have it.
    final class SharedConfiguration: Sendable {
        let value: Configuration
        let settings: PortSettings

        init(_ configuration: Configuration) {
            var value = configuration
            value.limits.clamp()
            self.value = value
            settings = .of(value.limits, sharesMemoryWhen: value.sharesMemory ? value.busy : nil)
        }
    }

    /// Bounds on what a peer can make this process hold, each checked before memory is taken.
    public typealias Limits = ConnectionLimits

    /// Decides by the peer's credentials whether a connection is accepted.
    public struct AcceptRule: Sendable {
        let decide: @Sendable (PeerCredentials?) -> String?

        /// A rule of your own.
        ///
        /// - Parameter decide: Given the peer's credentials (`nil` over pipes), returns `nil` to accept or the reason for
        ///   refusing, which the peer is told. Runs on the loop's thread.
        public init(_ decide: @escaping @Sendable (PeerCredentials?) -> String?) {
            self.decide = decide
        }

        /// Processes of the same user, and the process at the other end of a pipe that this one made or was given.
        ///
        /// In a user namespace of Linux that does not know all users, those without a number there share one (65534).
        /// A process that runs under it itself cannot tell its own user from others, and refuses all of that number: there,
        /// use a rule of your own.
        public static let sameUser = AcceptRule { peer in
            guard let peer, !peer.isOfThisUser else { return nil }
            let own = PeerCredentials.current.uid
            guard peer.uid != own else {
                return "the peer may be anybody: user \(own) stands for all without a number in this user namespace"
            }
            return "only processes of user \(own) may connect, the peer runs as user \(peer.uid)"
        }

        /// Everybody who can reach the socket.
        public static let everybody = AcceptRule { _ in nil }
    }
}

extension Connection {
    /// The counters now.
    public var statistics: ConnectionStatistics {
        state.withLock { state in
            ConnectionStatistics(
                exports: state.exports.count - (state.phase == .ended ? 0 : 1), imports: state.imports.count,
                questions: state.questions.count, answers: state.answers.count, pending: state.pending.count,
                framesIn: state.framesIn, framesOut: state.sent)
        }
    }
}
