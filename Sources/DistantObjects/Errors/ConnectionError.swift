import PortTransport

/// An error of the connection itself, such as a message that cannot be sent or a peer that refused.
public struct ConnectionError: Error, Sendable, CustomStringConvertible {
    /// What went wrong.
    ///
    /// Codes may be added in later versions.
    public struct Code: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        /// The name of the code, as it is printed.
        public let rawValue: String

        /// A code of that name.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The name of the code.
        public var description: String { rawValue }
    }

    /// What went wrong.
    public let code: Code
    /// A sentence that describes the error, and where possible what to do about it.
    public let message: String
    /// The message, path or connection that it concerns, for example `Directory.add`.
    public let context: String?
    /// The error that caused it, if there is one.
    public let underlying: (any Error)?
    /// Whether the method has not run and will not run, so that sending the message again cannot run it twice.
    ///
    /// A new attempt may fail in the same way, for example after `noSuchMessage`.
    public let isSafeToRetry: Bool

    /// Makes an error.
    ///
    /// - Parameters:
    ///   - code: What went wrong.
    ///   - message: A sentence that describes the error.
    ///   - context: The message, path or connection that it concerns.
    ///   - underlying: The error that caused it.
    public init(_ code: Code, _ message: String, context: String? = nil, underlying: (any Error)? = nil) {
        self.init(code, message, context: context, underlying: underlying, mayHaveRun: code.mayHaveRun)
    }

    /// Makes an error whose code does not determine whether the method has run.
    package init(
        _ code: Code, _ message: String, context: String? = nil, underlying: (any Error)? = nil, mayHaveRun: Bool
    ) {
        self.code = code
        self.message = message
        self.context = context
        self.underlying = underlying
        isSafeToRetry = !mayHaveRun
    }

    /// The same error with the name of the message in its context.
    func about(_ message: String) -> ConnectionError {
        ConnectionError(
            code, self.message, context: context.map { "\(message) over \($0)" } ?? message, underlying: underlying,
            mayHaveRun: !isSafeToRetry)
    }

    /// The context and the message.
    ///
    /// Without control characters, which a terminal would obey: a part of `message` may be what a peer has written.
    public var description: String {
        guard let context, !context.isEmpty else { return PlainText.lines(message) }
        return PlainText.lines("\(context): \(message)")
    }
}

// Each comment says whether the call may have run. `ConnectionError.isSafeToRetry` tells it for a particular error.
extension ConnectionError.Code {
    /// The call did not leave this process completely.
    ///
    /// It has not run; it is safe to send it again.
    public static let notSent = Self(rawValue: "notSent")
    /// The peer's goodbye says that it did not take the call.
    ///
    /// It has not run; it is safe to send it again.
    public static let notDelivered = Self(rawValue: "notDelivered")
    /// The connection ended after the call was sent and before its answer came.
    ///
    /// The call may have run.
    public static let outcomeUnknown = Self(rawValue: "outcomeUnknown")
    /// The object does not list a message of that name.
    ///
    /// Nothing has run.
    public static let noSuchMessage = Self(rawValue: "noSuchMessage")
    /// The number of arguments or the type of one does not match the method.
    ///
    /// Nothing has run.
    public static let wrongArgument = Self(rawValue: "wrongArgument")
    /// The result does not have the type that the caller asked for.
    ///
    /// The call has run.
    public static let wrongResult = Self(rawValue: "wrongResult")
    /// One side has too many calls, references or unread answers; try again later.
    ///
    /// Usually the call has not run. If it ran and its result was dropped, `isSafeToRetry` is false.
    public static let overloaded = Self(rawValue: "overloaded")
    /// The deadline of the call has passed.
    ///
    /// The call may have run. If the peer reports that it was not started, `isSafeToRetry` is true.
    public static let deadlineExceeded = Self(rawValue: "deadlineExceeded")
    /// The call was cancelled before or while it ran.
    ///
    /// It may have run in part. If the peer reports that it was not started, `isSafeToRetry` is true.
    public static let cancelled = Self(rawValue: "cancelled")
    /// The peer did not accept the connection.
    ///
    /// Nothing has run.
    public static let peerRefused = Self(rawValue: "peerRefused")
    /// The connection is closed or closing; the call was not sent.
    ///
    /// It has not run; it is safe to send it over another connection.
    public static let closed = Self(rawValue: "closed")
    /// There is no root object of that name.
    ///
    /// Nothing has run.
    public static let noSuchRoot = Self(rawValue: "noSuchRoot")
    /// The peer broke a rule of the protocol, and the connection has ended.
    ///
    /// Thrown when a connection is opened. Nothing has run.
    public static let protocolViolation = Self(rawValue: "protocolViolation")
    /// The handshake did not end in time.
    ///
    /// Nothing has run.
    public static let handshakeTimeout = Self(rawValue: "handshakeTimeout")
    /// A blocking call was made on an event loop's thread or in a task, which it would block.
    ///
    /// It was not sent.
    public static let wouldBlock = Self(rawValue: "wouldBlock")
    /// A message is larger than the peer accepts, or than this side's limit for archives.
    ///
    /// If it is the call, it was not sent. If it is the answer, the call has run, and `isSafeToRetry` is false.
    public static let tooLarge = Self(rawValue: "tooLarge")
    /// An object, a stream or shared bytes belong to another connection, or to one that has ended.
    ///
    /// If they are in an argument, the call was not sent. If they are in the result, the call has run, and `isSafeToRetry` is
    /// false.
    public static let foreignReference = Self(rawValue: "foreignReference")
    /// A value cannot be encoded in a message.
    ///
    /// If it is an argument, the call was not sent. If it is the result, the call has run, and `isSafeToRetry` is false.
    public static let notEncodable = Self(rawValue: "notEncodable")
    /// The system did not provide a descriptor, path or process.
    ///
    /// `underlying` is a `TransportError` with the details. Nothing was sent.
    public static let transport = Self(rawValue: "transport")
    /// A one-way message's method threw an error of its own.
    ///
    /// It has run, at least in part.
    public static let methodFailed = Self(rawValue: "methodFailed")
    /// One-way messages sent earlier did not run.
    ///
    /// Thrown once, by the next one-way message or `barrier()`. The message that throws it was not sent; it is safe to
    /// send it again.
    public static let oneWayLost = Self(rawValue: "oneWayLost")
    /// An object does not answer what an interface asks; the error's message lists each signature and what is wrong with it.
    ///
    /// Nothing was sent to it.
    public static let interfaceMismatch = Self(rawValue: "interfaceMismatch")
    /// The object does not have this message yet, or has it with other types: the peer is of another version.
    ///
    /// It was not sent, or the peer has refused it. Nothing has run.
    public static let notAvailable = Self(rawValue: "notAvailable")
    /// A promise has no object: the result that it stands for is nil or no reference.
    ///
    /// The method with that result has run. What was sent to the promise has not, and would fail the same way again.
    /// `isSafeToRetry` is false, because a new promise runs the method once more.
    public static let noObject = Self(rawValue: "noObject")
    /// A stream was iterated, sent or received again: it is read once.
    ///
    /// The message that contains it may have been sent all the same.
    public static let streamUsed = Self(rawValue: "streamUsed")

    /// Whether a call may have run that failed with this code, if nothing else is known.
    var mayHaveRun: Bool {
        switch self {
        case .notSent, .notDelivered, .noSuchMessage, .wrongArgument, .overloaded, .peerRefused, .closed, .noSuchRoot,
            .protocolViolation, .handshakeTimeout, .wouldBlock, .tooLarge, .foreignReference, .notEncodable, .transport,
            .oneWayLost, .interfaceMismatch, .notAvailable:
            false
        default: true
        }
    }

    /// As `mayHaveRun`, for a call that was sent and whose refusal does not tell.
    var mayHaveRunWhenRefused: Bool {
        mayHaveRun || self == .tooLarge || self == .notEncodable || self == .foreignReference
    }
}
