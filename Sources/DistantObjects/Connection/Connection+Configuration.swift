public import KeyedArchive
public import PortTransport
import Synchronization

extension Connection {
    /// The settings of a connection.
    ///
    /// Every setting has a default that suits two processes of one user.
    public struct Configuration: Sendable {
        /// Limits on the resources that the peer can make this process use.
        public var limits: Limits {
            get { sharedLimits.value }
            set { sharedLimits = SharedLimits(newValue) }
        }
        private var sharedLimits = SharedLimits.plain
        /// Classes that the peer may name besides those of declared types, and other names for classes.
        public var classes = ClassRegistry()
        /// Error types that are decoded when the peer throws them.
        ///
        /// Errors of other types arrive as `RemoteError`, and so do those that cannot be read as their type.
        public var errorTypes: [any (Error & Codable).Type] = []
        /// Whether the text of errors that are not `Codable` is sent to the peer.
        ///
        /// Default: false. Such texts often contain file names and values that the peer should not see.
        public var exposesErrorText = false
        /// How long the handshake may take.
        ///
        /// Default: 5 seconds. A peer that connects and stays silent is cut off then.
        public var handshakeTimeout = Duration.seconds(5)
        /// How long to wait for a root of the peer, if the look-up gives no deadline.
        ///
        /// Default: 60 seconds, so that the peer may take that long to start. Without a deadline a look-up at a peer that vends
        /// nothing would never end; the event `lookupWaits` tells after a second that it waits. `nil` for `callTimeout`.
        public var lookupTimeout: Duration? = .seconds(60)
        /// How long to wait for the answer to a call, if the call gives no deadline; `nil`, the default, for no limit.
        ///
        /// It does not apply to one-way messages.
        public var callTimeout: Duration?
        /// The interval after which a silent peer gets a ping; `nil`, the default, for no pings.
        ///
        /// After three silent intervals the connection ends. This is for links that can break without notice, such as pipes to a
        /// program that connects to another machine. If a local peer dies, the system reports it. A connection that `open` makes
        /// over `ssh` has 15 seconds instead of `nil`.
        public var keepalive: Duration?
        /// How long `close` waits for the process that `launch` has started to exit by itself.
        ///
        /// Default: 1 second. After that the process is asked to end (`SIGTERM`), and after the same time again it is killed
        /// (`SIGKILL`). If closing takes longer than its limit, because a method does not return, the process is asked to end
        /// at once. `nil`: `close` does not wait, and the process is left alone.
        public var exitTimeout: Duration? = .seconds(1)
        /// Decides which processes may connect.
        public var accept = AcceptRule.sameUser
        /// Whether threads that wait for the peer poll for a moment before they sleep.
        ///
        /// Default: `adaptive`. Connections with the same setting share a loop. See <doc:WhereCodeRuns>.
        public var polling = Polling.adaptive
        /// Whether a busy socket connection switches to shared memory.
        ///
        /// Default: true. It switches only if the peer agrees and runs as the same user. A message then costs one
        /// system call less on each side, and none while both sides poll (`polling`). The connection uses two more
        /// descriptors on each side and 260 KiB of memory that both processes can write. While it sends many large messages
        /// it uses 4 MiB more in each direction, for a second longer than it needs them; all connections of a process
        /// together 256 MiB. For ``SharedBytes`` it uses up to `limits.sharedBytes` in each direction. Each process
        /// does this for at most 512 connections. It works on Linux only, and not over pipes. Turn it off for a peer that must not be able to block this process: see <doc:Trust>.
        public var sharesMemory = true
        /// Whether this side asks to share memory as soon as the connection is open.
        ///
        /// Default: false. The side that has opened the connection asks once there is much traffic, or when it has made, sent
        /// or received at least 256 KiB in one message. The first large messages go over the socket then. It has no effect on the
        /// other side, nor without `sharesMemory`.
        public var sharesMemoryAtOnce = false
        /// Called for each event of the connection, on the loop's thread, in order.
        ///
        /// It must not block. `Connection.current` is the connection. The event `threadsExhausted` comes on another
        /// thread, because the loop has none left. The events `acceptPaused` and `tooManyConnections` belong to a
        /// listener and have no connection.
        public var onEvent: (@Sendable (ConnectionEvent) -> Void)?
        /// Objects that the connection vends from the start, by name; empty for the root.
        ///
        /// Both sides may have some: each finds the other's as soon as the connection is open. With `Connection.vend` a peer
        /// that looks early may find nothing on the side that has opened the connection.
        public var roots: [String: any Vendable] = [:]
        /// A name for log lines; `nil` for the address of the peer.
        public var name: String?
        /// The name of this program that the peer gets.
        ///
        /// Default: the name of the executable.
        public var programName = ConnectionProgram.ofThisProcess.name
        /// The version of this program that the peer gets, in your own words; at most 128 bytes are sent.
        ///
        /// Default: empty. The peer finds it in its event `opened`, and its accept rule can decide by it.
        public var programVersion = ""

        /// For a connection that the library has opened within this process; else nil.
        package var loopback: LoopbackKind?
        /// A loop that a test runs step by step; `nil` for the process's loop.
        package var loop: (any PortLoop)?
        /// How long a look-up of a root waits before it asks the peer what it waits for.
        package var lookupPatience = Duration.seconds(1)
        /// The traffic at which the connection switches to shared memory.
        package var busy = BusyTraffic()
        /// The window of large messages; both sides need the same.
        package var window = ChannelConfiguration.defaultWindow
        /// The traffic at which this side asks for shared memory.
        fileprivate var usedBusy: BusyTraffic { sharesMemoryAtOnce ? .atOnce : busy }
        /// How large messages are cut.
        package var sizes = OutputSizes()
        /// Whether the kernel is asked to refuse descriptors.
        ///
        /// Tests set it to false, to do as on a kernel that cannot.
        package var asksKernel = true

        /// Makes a configuration with the defaults.
        public init() {}
    }

    /// The limits of a configuration.
    ///
    /// Configurations with the defaults share one object.
    private final class SharedLimits: Sendable {
        let value: Limits

        init(_ value: Limits) { self.value = value }

        static let plain = SharedLimits(Limits())
    }

    /// A configuration with its limits in range.
    ///
    /// Connections of one listener share it.
    final class SharedConfiguration: Sendable {
        let value: Configuration
        let settings: OpenSettings
        let coder: CoderSettings

        init(_ configuration: Configuration) {
            var value = configuration
            var limits = value.limits
            limits.clamp()
            // Assigned only if they change, because limits that are assigned have memory of their own.
            if limits != value.limits { value.limits = limits }
            if limits.sharedBytes > RegionMemory.Purpose.mostOfBlobs {
                RegionMemory.Purpose.blobs.allow(4 * limits.sharedBytes)
            }
            self.value = value
            settings = .of(value)
            coder = .of(
                value.limits, value.classes, errorTypes: value.errorTypes, exposesErrorText: value.exposesErrorText)
        }
    }

    /// The settings that a connection needs once both sides have accepted each other.
    ///
    /// Connections with the defaults share one object.
    final class OpenSettings: Sendable {
        let conversation: ConversationSettings
        let callTimeout: Duration?
        let lookupTimeout: Duration?
        let lookupPatience: Duration
        /// How long the peer may take to greet, to end its stream after its Goodbye, and to answer when it may be gone.
        let handshakeTimeout: Duration
        let exitTimeout: Duration?
        let loopback: LoopbackKind?
        let onEvent: (@Sendable (ConnectionEvent) -> Void)?

        private init(_ configuration: Configuration, _ conversation: ConversationSettings) {
            self.conversation = conversation
            callTimeout = configuration.callTimeout
            lookupTimeout = configuration.lookupTimeout
            lookupPatience = configuration.lookupPatience
            handshakeTimeout = configuration.handshakeTimeout
            exitTimeout = configuration.exitTimeout
            loopback = configuration.loopback
            onEvent = configuration.onEvent
        }

        private static let plain = OpenSettings(Configuration(), .plain)

        /// The settings of a configuration whose limits are in range.
        static func of(_ configuration: Configuration) -> OpenSettings {
            let conversation = ConversationSettings.of(
                configuration.limits,
                ConnectionProgram(name: configuration.programName, version: configuration.programVersion),
                sharesMemoryWhen: configuration.sharesMemory ? configuration.usedBusy : nil,
                window: configuration.window)
            let isPlain =
                conversation === plain.conversation && configuration.onEvent == nil
                && configuration.callTimeout == plain.callTimeout
                && configuration.lookupTimeout == plain.lookupTimeout
                && configuration.lookupPatience == plain.lookupPatience
                && configuration.handshakeTimeout == plain.handshakeTimeout
                && configuration.exitTimeout == plain.exitTimeout && configuration.loopback == plain.loopback
            return isPlain ? plain : OpenSettings(configuration, conversation)
        }
    }

    /// Limits on the resources that a peer can make this process use.
    public typealias Limits = ConnectionLimits

    /// Whether threads that wait for the peer poll before they sleep.
    public typealias Polling = ConnectionPolling

    /// Decides whether to accept a connection, by the peer's credentials and the program that it says it is.
    public struct AcceptRule: Sendable {
        let decide: @Sendable (PeerCredentials?, ConnectionProgram) -> String?

        /// Makes a custom rule.
        ///
        /// - Parameter decide: Gets the peer's credentials (`nil` over pipes). Returns `nil` to accept, or the reason for a
        ///   refusal, which is sent to the peer. Called on the loop's thread.
        public init(_ decide: @escaping @Sendable (PeerCredentials?) -> String?) {
            self.decide = { peer, _ in decide(peer) }
        }

        /// Makes a custom rule that also looks at the program.
        ///
        /// With it a tool refuses a helper that is older than itself, or a service an old client. The program's name and
        /// version are its own claim, so they do not replace the credentials.
        ///
        /// - Parameter decide: Gets the peer's credentials (`nil` over pipes), and what it says of its program. Returns `nil` to
        ///   accept, or the reason for a refusal, which is sent to the peer. Called on the loop's thread.
        public init(_ decide: @escaping @Sendable (PeerCredentials?, ConnectionProgram) -> String?) {
            self.decide = decide
        }

        /// Accepts processes of the same user, and the process at the other end of a pipe.
        ///
        /// In a Linux user namespace that does not map all users, unmapped users share one number (65534). A process that
        /// runs as this user itself cannot tell its own user from others, and refuses them all. Use a custom rule there.
        public static let sameUser = AcceptRule { peer in
            guard let peer, !peer.isOfThisUser else { return nil }
            let own = PeerCredentials.current.uid
            guard peer.uid != own else {
                return "the peer may be any user: \(own) stands for all users that this user namespace does not map"
            }
            return "only processes of user \(own) may connect, the peer runs as user \(peer.uid)"
        }

        /// Accepts every process that can reach the socket.
        public static let anyone = AcceptRule { _ in nil }
    }
}

extension Connection {
    /// The current counters.
    public var statistics: ConnectionStatistics {
        state.withLock { state in
            var counters = ConnectionStatistics()
            counters.exports = state.session.references.exportCount
            counters.imports = state.session.references.importCount
            counters.questions = state.questions.count
            counters.answers = state.serving.count
            counters.pending = state.questions.pending.count
            counters.streams = state.session.streams.outgoingCount + state.session.streams.incomingCount
            counters.blobs = state.session.memory.blobs?.usedCount ?? 0
            counters.framesIn = state.framesIn
            counters.framesOut = state.sent
            return counters
        }
    }

    /// Bytes of large messages that one side has begun to send and the other has not consumed.
    package var outstandingMessageBytes: (incoming: UInt64, outgoing: UInt64) { channel.outstandingMessageBytes }
}
