/// The fixed numbers of protocol version 1.
enum ProtocolLimits {
    static let version: UInt64 = 1
    /// The bit of the features that says: this party greets first.
    static let initiator: UInt64 = 1
    /// The bit of the features that says: this party goes on in shared memory if the other one does.
    static let sharesMemory: UInt64 = 2
    /// The bit of the features that says: one-way messages have a credit of their own if the other party says so too.
    static let separatesOneWays: UInt64 = 4
    /// The bit of the features that says: this party knows what it means if its memory is declined.
    static let knowsDecline: UInt64 = 8
    /// The bit of the features that says: this party describes the classes of its objects, if the other party says so too.
    static let describesClasses: UInt64 = 16
    static let referencesInMessage = 4_096
    static let shapesInMessage = 4_096
    static let openerBytes = 49_152
    /// What the classes of references in one message may take, beside the tables.
    static let descriptionBytes = 12_288
    /// What may stand before a body: the tables, a name and a few numbers.
    static let tablesBytes = 53_248 + descriptionBytes
    static let nameBytes = 1_024
    /// Room for a header, tables and a body in one frame; what is larger goes out in fragments.
    static let wholeFrame = 61_440
    /// The header of a frame and the length of what follows it in fragments.
    static let headers = 16
    /// Every party takes messages of this size, whatever its `Hello` says.
    static let smallestMessage: UInt64 = 4_096
    static let barriers = 256
    /// More than a peer that keeps to the rules can have unanswered, since pings and barriers count together.
    static let unwrittenPongs = 1_024
    /// Calls being refused take numbers too, at most one for each thread of a loop.
    static let refusals = 64

    /// The bytes "DOBJ".
    static var magic: [UInt8] { [0x44, 0x4F, 0x42, 0x4A] }
}
