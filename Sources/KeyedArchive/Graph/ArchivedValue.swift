#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// A value as an archive stores it, without the program's own types.
///
/// Numbers keep their kind. Values refer to objects by index in the graph and never own them: freeing, printing and
/// comparing need no recursion over objects.
public enum ArchivedValue: Sendable, Hashable {
    /// Nil, also for a conditional object that nothing else archived.
    case null
    /// An optional with a value, which may be nil itself.
    indirect case present(ArchivedValue)
    /// A Boolean.
    case bool(Bool)
    /// A signed integer.
    case integer(Int64)
    /// An integer above `Int64.max`.
    case unsigned(UInt64)
    /// An integer that needs 128 bits.
    indirect case wide(Int128)
    /// An unsigned integer that needs 128 bits.
    indirect case unsignedWide(UInt128)
    /// The bits of a `Float`, so that every NaN is kept and equal to itself.
    case float(bits: UInt32)
    /// The bits of a `Double`.
    case double(bits: UInt64)
    /// A string.
    case string(String)
    /// A string in UTF-16 with unpaired surrogates, which no `String` can hold.
    case brokenString([UInt16])
    /// Bytes.
    case data(Data)
    /// Seconds since 2001, as the bits of a `Double`.
    case date(bits: UInt64)
    /// A UUID.
    case uuid(UUID)
    /// A URL with the URL it is relative to.
    indirect case url(String, base: String?)
    /// A decimal number: digits with their sign, and the exponent; or `NaN`.
    indirect case decimal(digits: String, exponent: Int64)
    /// Elements in order.
    case list([ArchivedValue])
    /// Elements without order.
    case set([ArchivedValue])
    /// Keys and values.
    case map([Pair])
    /// Scalars of one type, little-endian one after the other.
    indirect case scalars(Scalars)
    /// A structure or other value with keys.
    indirect case record(ArchivedRecord)
    /// An object, by its index in the graph.
    case reference(Int)
    /// A list or map that occurs several times in a property list, or is nested very deep, by its index in the
    /// graph's `sharedValues`.
    case shared(Int)

    /// An integer in the narrowest case that can hold it.
    public static func whole(_ value: Int128) -> ArchivedValue {
        if let small = Int64(exactly: value) { return .integer(small) }
        if let unsigned = UInt64(exactly: value) { return .unsigned(unsigned) }
        return .wide(value)
    }

    /// A key and its value.
    public struct Pair: Sendable, Hashable {
        /// The key.
        public var key: ArchivedValue
        /// The value.
        public var value: ArchivedValue

        /// Makes a pair.
        public init(_ key: ArchivedValue, _ value: ArchivedValue) {
            self.key = key
            self.value = value
        }
    }

    /// An array of scalars.
    public struct Scalars: Sendable, Hashable {
        let kind: PackedKind
        /// The elements, little-endian one after the other.
        public let bytes: Data

        /// The name of the elements' type.
        public var typeName: String { kind.typeName }

        /// The number of elements.
        public var count: Int { bytes.count / kind.width }
    }
}
