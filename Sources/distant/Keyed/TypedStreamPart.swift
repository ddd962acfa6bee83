#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// What a typedstream that is made from another archive contains next: the type of a group, or a value.
enum TypedStreamPart {
    /// The type string of the values that follow.
    case group(String)
    case null
    /// An object, by its place in the archive that is translated.
    case object(Int)
    /// A class and its superclasses.
    case type([TypedStreamMember])
    case cString(String)
    /// A string of the type `+`.
    case text(String)
    /// The elements of an array of bytes.
    case bytes(Data)
    /// A value of `c`, `C` or `B`.
    case byte(UInt8)
    /// A value of another integer type.
    case integer(Int64, UInt8)
    case float(bits: UInt32)
    case double(bits: UInt64)

    /// Whether it is a value, which errors count.
    var isValue: Bool { if case .group = self { false } else { true } }

    /// An integer of any type; nil if the type cannot hold it, or is none of an integer.
    static func whole(_ value: Int128, _ encoding: UInt8) -> TypedStreamPart? {
        switch Character(UnicodeScalar(encoding)) {
        case "c": Int8(exactly: value).map { .byte(UInt8(bitPattern: $0)) }
        case "C": UInt8(exactly: value).map { .byte($0) }
        case "B": (0...1).contains(value) ? .byte(UInt8(value)) : nil
        case "s": Int16(exactly: value).map { .integer(Int64($0), encoding) }
        case "S": UInt16(exactly: value).map { .integer(Int64($0), encoding) }
        case "i", "l": Int32(exactly: value).map { .integer(Int64($0), encoding) }
        case "I", "L": UInt32(exactly: value).map { .integer(Int64($0), encoding) }
        case "q": Int64(exactly: value).map { .integer($0, encoding) }
        case "Q": UInt64(exactly: value).map { .integer(Int64(bitPattern: $0), encoding) }
        default: nil
        }
    }
}

/// A class of a typedstream, with its version at the time of writing.
struct TypedStreamMember: Hashable {
    let name: String
    let version: Int
}
