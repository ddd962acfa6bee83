internal import CPortShims

/// What went wrong below the level of objects: at a descriptor, an address or a frame.
public struct TransportError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kind of an error.
    ///
    /// More may be added, so a `switch` over codes needs a default.
    public struct Code: RawRepresentable, Sendable, Hashable, CustomStringConvertible {
        /// The name of the code, as it is printed.
        public let rawValue: String

        /// A code of that name.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The name of the code.
        public var description: String { rawValue }

        /// A path that is too long for the system, or whose last part does not fit a socket address.
        public static let pathTooLong = Code(rawValue: "pathTooLong")
        /// Nothing exists at the path.
        public static let notFound = Code(rawValue: "notFound")
        /// A socket file exists, and nobody listens at it.
        public static let nobodyListens = Code(rawValue: "nobodyListens")
        /// The listener's queue is full: it accepts nothing, or not fast enough.
        public static let listenerBusy = Code(rawValue: "listenerBusy")
        /// Another listener has the path.
        public static let nameTaken = Code(rawValue: "nameTaken")
        /// A descriptor that is not open, or is neither a socket nor a pipe, or the wrong one of the two.
        public static let wrongDescriptor = Code(rawValue: "wrongDescriptor")
        /// The process was not started with a channel to its parent.
        public static let noParent = Code(rawValue: "noParent")
        /// No service manager has passed this process such a socket.
        public static let notActivated = Code(rawValue: "notActivated")
        /// A name that no service or machine can have, or an address that is not understood.
        public static let invalidName = Code(rawValue: "invalidName")
        /// The user has no folder in which services can have their sockets.
        public static let noRuntimeFolder = Code(rawValue: "noRuntimeFolder")
        /// A program could not be started.
        public static let launchFailed = Code(rawValue: "launchFailed")
        /// Another machine cannot be reached, or the link to it is cut.
        public static let unreachable = Code(rawValue: "unreachable")
        /// Another machine does not let the user in, or is not known to be the one that is meant.
        public static let accessDenied = Code(rawValue: "accessDenied")
        /// The peer's bytes are not what the protocol allows.
        public static let protocolViolation = Code(rawValue: "protocolViolation")
        /// The input ended inside a frame or a message.
        public static let truncated = Code(rawValue: "truncated")
        /// The peer no longer reads.
        public static let brokenPipe = Code(rawValue: "brokenPipe")
        /// A frame to be sent is over a limit of this side.
        public static let limitExceeded = Code(rawValue: "limitExceeded")
        /// The channel was ended from this side.
        public static let cancelled = Code(rawValue: "cancelled")
        /// A blocking call was made on a thread that must not block.
        public static let wouldBlockLoop = Code(rawValue: "wouldBlockLoop")
        /// The channel or loop was made before `fork` and belongs to the parent.
        public static let forked = Code(rawValue: "forked")
        /// A failed system call.
        public static let system = Code(rawValue: "system")
        /// A frame's handler threw an error of another type.
        public static let handlerFailed = Code(rawValue: "handlerFailed")
    }

    /// The kind of the error.
    public let code: Code
    /// One sentence for a person to read.
    public let message: String
    /// What the error is about, from the outside in: a path, a role, a frame's number.
    public let context: [String]
    /// The system's error number, if a system call failed.
    public let errno: Int32?

    /// An error; the channel, not its user, makes these.
    package init(_ code: Code, _ message: String, context: [String] = [], errno: Int32? = nil) {
        self.code = code
        self.message = message
        self.context = context
        self.errno = errno
    }

    /// The failed system call `name`, with the reason the system gives.
    package static func system(
        _ name: String, _ number: Int32, code: Code = .system, context: [String] = []
    ) -> TransportError {
        TransportError(code, "\(name) failed: \(reason(number))", context: context, errno: number)
    }

    /// The system's text for an `errno`.
    package static func reason(_ number: Int32) -> String {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 128) { buffer in
            guard let start = buffer.baseAddress else { return "error \(number)" }
            port_error_text(number, start, buffer.count)
            return String(cString: start)
        }
    }

    /// The message with its context and code.
    public var description: String {
        let place = context.isEmpty ? "" : " (\(context.joined(separator: ", ")))"
        return "\(message)\(place) [\(code)]"
    }
}
