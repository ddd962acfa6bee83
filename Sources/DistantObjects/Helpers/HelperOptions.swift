public import PortTransport

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// What a ``Helper`` gets besides its program's name.
public struct HelperOptions: Sendable {
    /// Where a standard stream of a helper goes.
    public enum Output: Sendable, Hashable {
        /// To the same stream of this process.
        case inherited
        /// To the standard error of this process, each line after a prefix and a space.
        case prefixed(String)
        /// Into memory only. As with a prefix, the last 64 KiB come with ``HelperEvent/ended(_:)``.
        case kept
    }

    /// What is done about a helper that does not answer pings.
    public enum Remedy: Sendable, Hashable {
        /// Nothing: the event tells.
        case report
        /// It is ended by SIGKILL, and started again as the policy says.
        case kill
        /// It is ended by SIGABRT, so that the system can write a core, and by SIGKILL after five seconds.
        case abort
    }

    /// The arguments after the program's name.
    public var arguments: [String] = []
    /// Variables in addition to those of this process.
    public var environment: [String: String] = [:]
    /// Its working directory; nil for that of this process.
    public var directory: String?
    /// How it is connected.
    public var transport = ChildProcess.Transport.socketpair
    /// What else it gets from this process.
    public var process = ChildProcess.Options()
    /// Where its standard error goes.
    ///
    /// Default: `inherited`. Its standard output goes there, too, unless `standardOutput` or `process` says otherwise.
    public var standardError = Output.inherited
    /// Where its standard output goes; nil, the default: where its standard error goes.
    ///
    /// With a prefix its lines go to the standard error of this process, too. What is kept of it comes as
    /// ``HelperEnd/lastOutputLines``. It has no effect if `process.standardOutput` is set. Over pipes the standard output is the
    /// connection's, and a start with either is refused.
    public var standardOutput: Output?
    /// The configuration of its connections.
    ///
    /// `exitTimeout`, here 5 seconds by default, is how long a helper may take to exit after its connection was closed in order; one
    /// whose connection ends otherwise gets half a second.
    public var configuration: Connection.Configuration
    /// After which time without an answer to a ping a helper counts as hung, at least 100 milliseconds; nil, the default, for no pings.
    ///
    /// Its loop answers, so a method that computes for long, or blocks, does not count. One that the terminal has stopped does not,
    /// either.
    public var unresponsiveAfter: Duration?
    /// What is done about a helper that counts as hung.
    ///
    /// Default: `kill`.
    public var whenUnresponsive = Remedy.kill

    /// The defaults.
    public init() {
        configuration = Connection.Configuration()
        configuration.exitTimeout = .seconds(5)
    }
}

extension HelperOptions.Remedy {
    /// How long the system may take to write a core.
    private static let coreTime = Duration.seconds(5)

    /// - Parameter silence: How long the helper has not answered.
    func act(on connection: Connection, after silence: Duration, _ loop: any PortLoop) {
        guard self != .report else { return }
        guard let child = connection.child else {
            return connection.endSilently(because: "the peer has not answered for \(silence)")
        }
        guard self == .abort else { return child.kill() }
        child.send(SIGABRT)
        // A stopped process gets no other signal.
        child.send(SIGCONT)
        _ = loop.addTimer(after: Self.coreTime) { child.kill() }
    }
}
