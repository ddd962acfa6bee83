/// One node of a binary property list: its kind, and where its content is.
struct PlistNode {
    enum Kind: UInt8 {
        case invalid
        case null
        case isFalse
        case isTrue
        case integer
        case real
        case date
        case data
        /// One byte per character, all below 0x80.
        case ascii
        /// Two bytes per unit, big-endian; surrogates may be unpaired.
        case utf16
        case utf8
        /// A number that names an object of a keyed archive.
        case uid
        case array
        /// All keys, then all values.
        case dictionary
    }

    let kind: Kind
    /// Where the content begins.
    let start: Int
    /// Elements or pairs of a container, units of a string, bytes of anything else.
    let count: Int

    static let invalid = PlistNode(kind: .invalid, start: 0, count: 0)

    var isContainer: Bool { kind == .array || kind == .dictionary }
    var isString: Bool { kind == .ascii || kind == .utf16 || kind == .utf8 }
}

/// The marker bytes in front of nodes.
enum PlistMarker {
    static let null: UInt8 = 0x00
    static let isFalse: UInt8 = 0x08
    static let isTrue: UInt8 = 0x09
    static let integer: UInt8 = 0x10
    static let float: UInt8 = 0x22
    static let double: UInt8 = 0x23
    static let date: UInt8 = 0x33
    static let data: UInt8 = 0x40
    static let ascii: UInt8 = 0x50
    static let utf16: UInt8 = 0x60
    static let utf8: UInt8 = 0x70
    static let uid: UInt8 = 0x80
    static let array: UInt8 = 0xA0
    static let dictionary: UInt8 = 0xD0
}
