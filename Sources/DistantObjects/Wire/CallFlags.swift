/// The flag bits of a `Call` frame.
package struct CallFlags: OptionSet, Sendable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// A one-way message: the caller wants no `Return`, and the question field is absent.
    package static let oneWay = CallFlags(rawValue: 1)
    /// The header contains the time left until the deadline.
    package static let deadline = CallFlags(rawValue: 2)
    /// The answer is kept until a `Drop` names it.
    package static let keepAnswer = CallFlags(rawValue: 4)

    /// The target is the answer to an earlier call of the sender, not an object.
    package static let toAnswer = CallFlags(rawValue: 8)
    /// The sender wants the answer only as a target or argument: a result that is an object is not returned.
    package static let promise = CallFlags(rawValue: 16)

    /// The header contains metadata.
    package static let metadata = CallFlags(rawValue: 32)

    /// The flags that a message may have.
    ///
    /// - Parameter features: What both sides have agreed on.
    static func known(_ features: UInt64) -> CallFlags {
        var known: CallFlags = [.oneWay, .deadline, .keepAnswer]
        if features & ProtocolLimits.knowsPromises != 0 { known.formUnion([.toAnswer, .promise]) }
        if features & ProtocolLimits.carriesMetadata != 0 { known.insert(.metadata) }
        return known
    }
}
