/// The constants of protocol version 1.
enum ProtocolLimits {
    static let version: UInt64 = 1
    /// The most streams of each side that are open at a time.
    static let openStreams: UInt32 = 1_024
    /// The most items, and the most bytes, that a stream's reader may have granted at a time.
    static let streamCredit = 1 << 40
    static let referencesInMessage = 4_096
    static let shapesInMessage = 4_096
    static let openerBytes = 49_152
    /// The most names, shapes or classes that get a number, and the most bytes of the definitions of each.
    static let interned = 4_096
    static let internedBytes = 4 << 20
    /// The most bytes that the classes of references take in one message, beside the tables.
    static let descriptionBytes = 12_288
    /// The most bytes that the metadata of a message takes.
    static let metadataBytes = 4_096
    static let nameBytes = 1_024
    /// The most bytes of a program's version in its `Hello`.
    static let versionBytes = 128
    /// The most bytes of header, tables and body in one frame.
    ///
    /// Larger messages are sent in fragments.
    static let wholeFrame = 61_440
    /// Bytes for which it is worth to share memory, or to make a region.
    static let largeContent = 256 << 10
    /// The bytes of a frame's header, with the length of the fragments that follow it.
    static let headers = 16
    /// Every side takes messages of this size, whatever its `Hello` says.
    static let smallestMessage: UInt64 = 4_096
    /// The most credit for one-way messages that is used, however much a peer grants.
    static let mostOneWayCredit: Int32 = 1 << 20
    /// The one-way messages that may wait or are granted, however much memory waits.
    static let fewestOneWays = 16
    static let barriers = 256
    /// The answers that each side keeps for later messages of the other.
    static let keptAnswers = 4_096
    /// More than a peer can have unanswered without breaking a rule; pings and barriers count together.
    static let unwrittenPongs = 1_024
    /// Calls that are being refused use question numbers, too: at most one for each thread of a loop.
    static let refusals = 64

    /// The bytes "DOBJ".
    static var magic: [UInt8] { [0x44, 0x4F, 0x42, 0x4A] }
}
