/// What a frame says, the `kind` byte of its header.
///
/// `WireProtocol.md` describes each; the numbers are fixed for protocol version 1.
package enum FrameKind: UInt8, Sendable {
    case hello = 1
    case call = 2
    case `return` = 3
    case cancel = 4
    case drop = 5
    case release = 6
    case credit = 7
    case item = 8
    case end = 9
    case barrier = 10
    case ping = 11
    case pong = 12
    case failed = 13
    case provide = 14
    case accept = 15
    case goodbye = 16
    case share = 17
}

/// What a `Share` frame says, its flags.
package enum ShareStep: UInt8, Sendable {
    /// The initiator asks the other party to make memory for both.
    case ask = 0
    /// The other party has made it; without descriptors: it has not.
    case give = 1
    /// All that follows comes through the memory.
    case move = 2
    /// The initiator has no use for the memory it was given, and stays; only where the other party knows this step.
    case decline = 3
}

/// The flag bits of a `Call` frame.
package struct CallFlags: OptionSet, Sendable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// No `Return` is wanted; the question field is absent.
    package static let oneWay = CallFlags(rawValue: 1)
    /// The time left until the caller gives up stands in the header.
    package static let deadline = CallFlags(rawValue: 2)
    /// The answer is kept until a `Drop` names it.
    package static let keepAnswer = CallFlags(rawValue: 4)

    static let known: CallFlags = [.oneWay, .deadline, .keepAnswer]
}

/// How a call ended, the flags of a `Return` frame.
package enum ReturnStatus: UInt8, Sendable {
    /// The body is the result.
    case result = 0
    /// The method threw; the body is the error.
    case thrown = 1
    /// The method was not run, or its result could not be sent; the body is a code and a sentence.
    case refused = 2
}
