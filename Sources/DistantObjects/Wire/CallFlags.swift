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
