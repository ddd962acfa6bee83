/// An error of the connection itself: a message that could not be sent, a call whose outcome is lost, a peer that refused.
public struct ConnectionError: Error, Sendable, CustomStringConvertible {
    /// What went wrong.
    ///
    /// Codes may be added in later versions.
    public struct Code: RawRepresentable, Hashable, Sendable {
        /// The number on the wire.
        public let rawValue: Int

        /// A code by its number.
        public init(rawValue: Int) {
            self.rawValue = rawValue
        }
    }

    /// What went wrong.
    public let code: Code
    /// A sentence for the user that says what to do about it.
    public let message: String
    /// The name or place it concerns, for example `Directory.add` or a socket path.
    public let context: String?
    /// The error beneath, if there is one.
    public let underlying: (any Error)?
    /// Whether the method has not run and will not: to send the message again cannot run it twice.
    ///
    /// It says nothing about the chances of another attempt; after some errors, as `noSuchMessage`, it fails the same way.
    public let isSafeToRetry: Bool

    /// Makes an error.
    ///
    /// - Parameters:
    ///   - code: What went wrong.
    ///   - message: A sentence for the user.
    ///   - context: The name or place it concerns.
    ///   - underlying: The error beneath.
    public init(_ code: Code, _ message: String, context: String? = nil, underlying: (any Error)? = nil) {
        self.init(code, message, context: context, underlying: underlying, mayHaveRun: code.mayHaveRun)
    }

    /// An error whose code alone does not say whether the method has run.
    package init(
        _ code: Code, _ message: String, context: String? = nil, underlying: (any Error)? = nil, mayHaveRun: Bool
    ) {
        self.code = code
        self.message = message
        self.context = context
        self.underlying = underlying
        isSafeToRetry = !mayHaveRun
    }

    /// The same error, saying which message it is about.
    func about(_ message: String) -> ConnectionError {
        ConnectionError(
            code, self.message, context: context.map { "\(message) over \($0)" } ?? message, underlying: underlying,
            mayHaveRun: !isSafeToRetry)
    }

    /// The context and the sentence.
    public var description: String {
        guard let context, !context.isEmpty else { return message }
        return "\(context): \(message)"
    }
}

// Of each code the comment says whether the call may have run; `ConnectionError.isSafeToRetry` says it of each error.
extension ConnectionError.Code {
    /// The call never left this process: not a byte of its end was written.
    ///
    /// It has not run; it is safe to send it again.
    public static let notSent = Self(rawValue: 1)
    /// The peer said in its goodbye that it did not take the call.
    ///
    /// It has not run; it is safe to send it again.
    public static let notDelivered = Self(rawValue: 2)
    /// The connection ended after the call was sent and before its answer came.
    ///
    /// It may have run or not.
    public static let outcomeUnknown = Self(rawValue: 3)
    /// The object does not list a message of that name.
    ///
    /// Nothing has run.
    public static let noSuchMessage = Self(rawValue: 4)
    /// The arguments do not fit the message: their number, or one's type.
    ///
    /// Nothing has run.
    public static let wrongArgument = Self(rawValue: 5)
    /// The result does not have the type the caller asked for.
    ///
    /// The call has run.
    public static let wrongResult = Self(rawValue: 6)
    /// One side has too much to do, or too many of its answers are unread; try again later.
    ///
    /// As a rule the call has not run. It has where its result found no room any more, and `isSafeToRetry` is false then.
    public static let overloaded = Self(rawValue: 7)
    /// The deadline given with the call has passed.
    ///
    /// The call may have run or not; `isSafeToRetry` if the peer says that it was not started.
    public static let deadlineExceeded = Self(rawValue: 8)
    /// The call was cancelled before or while it ran.
    ///
    /// It may have run in part; `isSafeToRetry` if the peer says that it was not started.
    public static let cancelled = Self(rawValue: 9)
    /// The peer did not accept the connection.
    ///
    /// Nothing has run.
    public static let peerRefused = Self(rawValue: 10)
    /// The connection is closed or closing; the call was not sent.
    ///
    /// It has not run; it is safe to send it over another connection.
    public static let closed = Self(rawValue: 11)
    /// There is no root object of that name.
    ///
    /// Nothing has run.
    public static let noSuchRoot = Self(rawValue: 12)
    /// The peer broke a rule of the protocol; the connection has ended.
    ///
    /// Thrown where a connection is opened; nothing has run.
    public static let protocolViolation = Self(rawValue: 13)
    /// The handshake did not end in time.
    ///
    /// Nothing has run.
    public static let handshakeTimeout = Self(rawValue: 14)
    /// A blocking call was made where it would stop the loop or a task.
    ///
    /// It was not sent.
    public static let wouldBlock = Self(rawValue: 15)
    /// A message is larger than the peer accepts, or than an archive may be here.
    ///
    /// If it is the call, it was not sent. If it is the answer, the call has run, and `isSafeToRetry` is false.
    public static let tooLarge = Self(rawValue: 16)
    /// A reference of another connection, or of one that has ended.
    ///
    /// The call was not sent.
    public static let foreignReference = Self(rawValue: 17)
    /// Something that cannot be put into a message.
    ///
    /// If it is an argument, the call was not sent. If it is the result, the call has run, and `isSafeToRetry` is false.
    public static let notEncodable = Self(rawValue: 18)
    /// A descriptor, path or process could not be had from the system.
    ///
    /// Which, says the `TransportError` in `underlying`. Nothing was sent.
    public static let transport = Self(rawValue: 19)
    /// A one-way message's method threw an error of its own.
    ///
    /// It has run, at least in part.
    public static let methodFailed = Self(rawValue: 20)
    /// One-way messages sent before did not run; thrown once, by the next one-way message or `barrier()`.
    ///
    /// What throws it was not sent and has not run: it is safe to send it again.
    public static let oneWayLost = Self(rawValue: 21)
    /// An object does not answer what an interface asks; the error's message lists each signature and what is wrong with it.
    ///
    /// Nothing was sent to it.
    public static let interfaceMismatch = Self(rawValue: 22)
    /// The peer is of an earlier version than the message that was to be sent.
    ///
    /// It was not sent.
    public static let notAvailable = Self(rawValue: 23)

    /// What holds where nobody knows better.
    var mayHaveRun: Bool {
        switch self {
        case .notSent, .notDelivered, .noSuchMessage, .wrongArgument, .overloaded, .peerRefused, .closed, .noSuchRoot,
            .protocolViolation, .handshakeTimeout, .wouldBlock, .tooLarge, .foreignReference, .notEncodable, .transport,
            .oneWayLost, .interfaceMismatch, .notAvailable:
            false
        default: true
        }
    }

    /// As `mayHaveRun`, of a call that was sent and whose peer does not say.
    var mayHaveRunWhenRefused: Bool { mayHaveRun || self == .tooLarge || self == .notEncodable }
}
