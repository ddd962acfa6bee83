public import PortTransport

/// An event of a connection or a listener, which `Connection.Configuration.onEvent` gets.
///
/// ```swift
/// configuration.onEvent = { event in
///     if event.code == .ended { log("\(event)") }
/// }
/// ```
///
/// Each code says which of the other properties are set.
public struct ConnectionEvent: Sendable {
    /// What happened.
    ///
    /// Codes may be added in later versions.
    public struct Code: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        /// The code's name, for log lines.
        public let rawValue: String

        /// Makes a code of its name.
        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// The name of the code.
        public var description: String { rawValue }
    }

    /// The properties are on the heap, so that an event takes little room among a connection's actions.
    private final class Storage: Sendable {
        let code: Code
        let peer: PeerCredentials?
        let name: String?
        let programVersion: String?
        let frameNumber: UInt64?
        let threadCount: Int?
        let error: (any Error)?
        let end: ConnectionEnd?
        let exitStatus: ChildProcess.ExitStatus?

        init(
            _ code: Code, peer: PeerCredentials?, name: String?, programVersion: String?, frameNumber: UInt64?,
            threadCount: Int?, error: (any Error)?, end: ConnectionEnd?, exitStatus: ChildProcess.ExitStatus?
        ) {
            self.code = code
            self.peer = peer
            self.name = name
            self.programVersion = programVersion
            self.frameNumber = frameNumber
            self.threadCount = threadCount
            self.error = error
            self.end = end
            self.exitStatus = exitStatus
        }
    }

    private let storage: Storage

    private init(
        _ code: Code, peer: PeerCredentials? = nil, name: String? = nil, programVersion: String? = nil,
        frameNumber: UInt64? = nil, threadCount: Int? = nil, error: (any Error)? = nil, end: ConnectionEnd? = nil,
        exitStatus: ChildProcess.ExitStatus? = nil
    ) {
        storage = Storage(
            code, peer: peer, name: name, programVersion: programVersion, frameNumber: frameNumber,
            threadCount: threadCount, error: error, end: end,
            exitStatus: exitStatus)
    }

    /// What happened.
    public var code: Code { storage.code }
    /// The peer's credentials; nil over pipes.
    public var peer: PeerCredentials? { storage.peer }
    /// The name of the peer's program, or of the message.
    public var name: String? { storage.name }
    /// The version of the peer's program, in its own words; empty if it gives none.
    public var programVersion: String? { storage.programVersion }
    /// The number of the frame of a one-way message, which tells two failures on one connection apart.
    public var frameNumber: UInt64? { storage.frameNumber }
    /// The number of threads that run methods which block.
    public var threadCount: Int? { storage.threadCount }
    /// The error.
    public var error: (any Error)? { storage.error }
    /// Why the connection ended.
    public var end: ConnectionEnd? { storage.end }
    /// How the launched process ended.
    public var exitStatus: ChildProcess.ExitStatus? { storage.exitStatus }
}

extension ConnectionEvent.Code {
    /// The handshake is done; `peer`, and `name` and `programVersion` of the peer's program.
    public static let opened = Self(rawValue: "opened")
    /// A one-way message that the peer sent failed in this process; its `name`, and `error`.
    public static let oneWayFailedHere = Self(rawValue: "oneWayFailedHere")
    /// A one-way message of this process failed in the peer; its `frameNumber`, and `error`, a `ConnectionError`.
    public static let oneWayFailed = Self(rawValue: "oneWayFailed")
    /// A call of the peer was refused; its `name`, and `error`, a `ConnectionError`.
    public static let callRefused = Self(rawValue: "callRefused")
    /// A look-up of a root has waited for a second, because nothing has been vended yet.
    ///
    /// It comes on both sides: on that which looks up with the root's `name`, which is empty for the one without a name, and on
    /// that which has vended nothing without one. The look-up goes on until its deadline. If nothing vends the root, a line
    /// `connection.vend(...)` is missing there.
    public static let lookupWaits = Self(rawValue: "lookupWaits")
    /// So many methods block, on connections of the process, that the loop has no thread left; `threadCount`.
    ///
    /// Nothing is read until one of them returns.
    public static let threadsExhausted = Self(rawValue: "threadsExhausted")
    /// A listener cannot accept, and tries again; `error`, a `ConnectionError`.
    ///
    /// Usually only the last 16 descriptors are left, which the listener does not use, or `Connection.Limits.connections` are
    /// open. It comes once until the listener has accepted again.
    public static let acceptPaused = Self(rawValue: "acceptPaused")
    /// A listener has refused a process, whose peer has `Connection.Limits.connectionsOfPeer` open; `peer`, and `error`.
    ///
    /// It comes once for each peer until one of its connections is accepted again.
    public static let tooManyConnections = Self(rawValue: "tooManyConnections")
    /// No code can use the connection any more, but it was not closed.
    ///
    /// Nothing in this process refers to it, it vends nothing, and the peer refers to no object of this process. It stays
    /// open, with its descriptors, until the peer ends it. The handler can close `Connection.current`. The event comes once,
    /// one second to about a minute after the last reference is gone. It never comes if the handler itself holds the
    /// connection.
    public static let dropped = Self(rawValue: "dropped")
    /// The process that `launch` has started has exited, and the connection goes on, because another process has answered in
    /// its place; `exitStatus`.
    ///
    /// A program that leaves a daemon behind does so. If nothing answers, the connection ends instead.
    public static let childExited = Self(rawValue: "childExited")
    /// The connection has ended; `end`.
    ///
    /// No event follows.
    public static let ended = Self(rawValue: "ended")
}

extension ConnectionEvent: CustomStringConvertible {
    /// The code and the properties that are set, as one line for a log, without control characters.
    public var description: String {
        let details: [String?] = [
            programVersion.map { ConnectionProgram(name: name ?? "", version: $0).description } ?? name,
            peer.map { "peer pid \($0.pid), uid \($0.uid)" }, frameNumber.map { "frame \($0)" },
            threadCount.map { "\($0) threads" }, error.map { "\($0)" }, end?.description,
            exitStatus.map { "\($0)" },
        ]
        let text = details.compactMap { $0 }.filter { !$0.isEmpty }.joined(separator: "; ")
        return text.isEmpty ? code.rawValue : PlainText.line("\(code.rawValue): \(text)")
    }
}

extension ConnectionEvent {
    static func opened(peer: PeerCredentials?, _ program: ConnectionProgram) -> Self {
        Self(.opened, peer: peer, name: program.name, programVersion: program.version)
    }

    static func oneWayFailedHere(message: String, _ error: any Error) -> Self {
        Self(.oneWayFailedHere, name: message, error: error)
    }

    static func oneWayFailed(number: UInt64, _ error: ConnectionError) -> Self {
        Self(.oneWayFailed, frameNumber: number, error: error)
    }

    static func callRefused(message: String, _ error: ConnectionError) -> Self {
        Self(.callRefused, name: message, error: error)
    }

    static func lookupWaits(_ name: String?) -> Self { Self(.lookupWaits, name: name) }

    static func threadsExhausted(_ count: Int) -> Self { Self(.threadsExhausted, threadCount: count) }

    static func acceptPaused(_ error: ConnectionError) -> Self { Self(.acceptPaused, error: error) }

    static func tooManyConnections(_ peer: PeerCredentials?, _ error: ConnectionError) -> Self {
        Self(.tooManyConnections, peer: peer, error: error)
    }

    static var dropped: Self { Self(.dropped) }

    static func childExited(_ status: ChildProcess.ExitStatus) -> Self { Self(.childExited, exitStatus: status) }

    static func ended(_ end: ConnectionEnd) -> Self { Self(.ended, end: end) }
}
