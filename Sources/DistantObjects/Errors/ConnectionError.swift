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

    /// Makes an error.
    ///
    /// - Parameters:
    ///   - code: What went wrong.
    ///   - message: A sentence for the user.
    ///   - context: The name or place it concerns.
    ///   - underlying: The error beneath.
    public init(_ code: Code, _ message: String, context: String? = nil, underlying: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.context = context
        self.underlying = underlying
    }

    /// The context and the sentence.
    public var description: String {
        guard let context, !context.isEmpty else { return message }
        return "\(context): \(message)"
    }
}

extension ConnectionError.Code {
    /// The call never left this process: not a byte of its end was written.
    ///
    /// It is safe to send it again.
    public static let notSent = Self(rawValue: 1)
    /// The peer said in its goodbye that it did not take the call.
    ///
    /// It is safe to send it again.
    public static let notDelivered = Self(rawValue: 2)
    /// The connection ended after the call was sent and before its answer came: it may have run or not.
    public static let outcomeUnknown = Self(rawValue: 3)
    /// The object does not list a message of that name.
    public static let noSuchMessage = Self(rawValue: 4)
    /// The arguments do not fit the message: their number, or one's type.
    public static let wrongArgument = Self(rawValue: 5)
    /// The result does not have the type the caller asked for.
    public static let wrongResult = Self(rawValue: 6)
    /// The peer runs as many calls as it allows, or as many of its answers are unread; try again later.
    ///
    /// The call was not run, with one exception that the message names: a result is thrown away when the answers before it
    /// take too much memory.
    public static let overloaded = Self(rawValue: 7)
    /// The deadline given with the call has passed.
    public static let deadlineExceeded = Self(rawValue: 8)
    /// The call was cancelled before or while it ran.
    public static let cancelled = Self(rawValue: 9)
    /// The peer did not accept the connection.
    public static let peerRefused = Self(rawValue: 10)
    /// The connection is closed or closing.
    public static let closed = Self(rawValue: 11)
    /// There is no root object of that name.
    public static let noSuchRoot = Self(rawValue: 12)
    /// The peer broke a rule of the protocol; the connection has ended.
    public static let protocolViolation = Self(rawValue: 13)
    /// The handshake did not end in time.
    public static let handshakeTimeout = Self(rawValue: 14)
    /// A blocking call was made where it would stop the loop or a task.
    public static let wouldBlock = Self(rawValue: 15)
    /// A message is larger than the peer accepts.
    public static let tooLarge = Self(rawValue: 16)
    /// A reference of another connection, or of one that has ended.
    public static let foreignReference = Self(rawValue: 17)
    /// Something that cannot be put into a message.
    public static let notEncodable = Self(rawValue: 18)
    /// A descriptor, path or process could not be had from the system.
    ///
    /// Which, says the `TransportError` in `underlying`.
    public static let transport = Self(rawValue: 19)
    /// A one-way message's method threw an error of its own.
    public static let methodFailed = Self(rawValue: 20)
    /// One-way messages sent before did not run; thrown once, by the next one-way message or `barrier()`.
    ///
    /// What throws it was not sent and has not run: it is safe to send it again.
    public static let oneWayLost = Self(rawValue: 21)
}
