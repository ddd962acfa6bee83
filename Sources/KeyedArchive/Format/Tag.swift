/// The first byte of every value.
///
///     0x00 ... 0x7F   an integer, 0 to 127
///     0x80 ... 0xBF   a string of 0 to 63 bytes of UTF-8, which follow
///     0xC0 ... 0xFF   one of the tags below
enum Tag {
    static let firstString: UInt8 = 0x80
    static let lastString: UInt8 = 0xBF
    static let none: UInt8 = 0xC0
    static let isFalse: UInt8 = 0xC1
    static let isTrue: UInt8 = 0xC2
    /// Zigzag varint.
    static let integer: UInt8 = 0xC3
    /// Varint; only written for values above `Int64.max`.
    static let unsigned: UInt8 = 0xC4
    static let int128: UInt8 = 0xC5
    static let uint128: UInt8 = 0xC6
    static let float: UInt8 = 0xC7
    static let double: UInt8 = 0xC8
    /// Varint length, UTF-8.
    static let string: UInt8 = 0xC9
    /// Varint length, bytes.
    static let bytes: UInt8 = 0xCA
    /// Eight bytes: a double, seconds since 2001.
    static let date: UInt8 = 0xCB
    static let uuid: UInt8 = 0xCC
    /// Two values: the string, and the base URL's string or none.
    static let url: UInt8 = 0xCD
    /// Zigzag varint exponent, then a string value: the digits with a sign, or NaN.
    static let decimal: UInt8 = 0xCE
    /// Varint count, values.
    static let list: UInt8 = 0xCF
    /// Varint count, key and value in turn.
    static let map: UInt8 = 0xD0
    /// Varint count, values.
    static let set: UInt8 = 0xD1
    /// Element kind u8, varint count, elements little-endian.
    static let packed: UInt8 = 0xD2
    /// Shape u16, values.
    static let record: UInt8 = 0xD3
    /// Varint object number.
    static let reference: UInt8 = 0xD4
    /// Varint count, zigzag varint differences of object numbers.
    static let references: UInt8 = 0xD5
    /// Object number u32, or `UInt32.max` for none.
    static let conditional: UInt8 = 0xD6
    /// Varint index into the table of objects by reference.
    static let external: UInt8 = 0xD7
    /// One value: the content of a non-nil optional, which may itself be nil.
    static let some: UInt8 = 0xD8
    /// Varint offset and varint length of bytes outside the body; never in files.
    static let outside: UInt8 = 0xD9
    /// One value, a number that is an object in Apple's format; only in bodies for that format's writer.
    static let asObject: UInt8 = 0xDA
    /// One value, which is mutable in Apple's format; only in bodies for that format's writer.
    static let asMutable: UInt8 = 0xDB

    /// What error messages call a value that begins with `tag`.
    static func describe(_ tag: UInt8) -> String {
        switch tag {
        case 0...0x7F, integer: "Int"
        case firstString...lastString, string: "String"
        case none: "nil"
        case isFalse, isTrue: "Bool"
        case unsigned: "UInt64"
        case int128: "Int128"
        case uint128: "UInt128"
        case float: "Float"
        case double: "Double"
        case bytes, outside: "Data"
        case date: "Date"
        case uuid: "UUID"
        case url: "URL"
        case decimal: "Decimal"
        case list: "a list"
        case map: "a dictionary"
        case set: "a set"
        case packed: "a list of scalars"
        case record: "a keyed value"
        case reference, conditional: "an object"
        case references: "a list of objects"
        case external: "an object by reference"
        case some: "an optional"
        default: "an unknown tag"
        }
    }
}

/// The kinds of elements in a packed list, with the bytes each takes.
enum PackedKind: UInt8 {
    case int8 = 1
    case int16, int32, int64
    case uint8, uint16, uint32, uint64
    case float, double
    case bool

    var width: Int {
        switch self {
        case .int8, .uint8, .bool: 1
        case .int16, .uint16: 2
        case .int32, .uint32, .float: 4
        case .int64, .uint64, .double: 8
        }
    }

    var typeName: String {
        switch self {
        case .int8: "Int8"
        case .int16: "Int16"
        case .int32: "Int32"
        case .int64: "Int64"
        case .uint8: "UInt8"
        case .uint16: "UInt16"
        case .uint32: "UInt32"
        case .uint64: "UInt64"
        case .float: "Float"
        case .double: "Double"
        case .bool: "Bool"
        }
    }
}
