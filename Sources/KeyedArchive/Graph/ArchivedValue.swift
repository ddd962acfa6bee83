#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// A value in an archive as it stands there, without the program's own types.
///
/// Kinds of numbers are kept. Objects are referred to by their index in the graph, so that a value never owns objects,
/// and freeing, printing and comparing need no recursion over them.
public indirect enum ArchivedValue: Sendable, Hashable {
    /// Nil, also for a conditional object that nothing else archived.
    case null
    /// An optional that is there although its content may be nil.
    case present(ArchivedValue)
    /// A truth value.
    case bool(Bool)
    /// A signed integer.
    case integer(Int64)
    /// An integer above `Int64.max`.
    case unsigned(UInt64)
    /// An integer that needs 128 bits.
    case wide(Int128)
    /// An unsigned integer that needs 128 bits.
    case unsignedWide(UInt128)
    /// The bits of a `Float`, so that every NaN is kept and equal to itself.
    case float(bits: UInt32)
    /// The bits of a `Double`.
    case double(bits: UInt64)
    /// A string.
    case string(String)
    /// Bytes.
    case data(Data)
    /// Seconds since 2001, as the bits of a `Double`.
    case date(bits: UInt64)
    /// A UUID.
    case uuid(UUID)
    /// A URL with the URL it is relative to.
    case url(String, base: String?)
    /// A decimal number: digits with their sign, and the exponent; or `NaN`.
    case decimal(digits: String, exponent: Int64)
    /// Elements in order.
    case list([ArchivedValue])
    /// Elements without order.
    case set([ArchivedValue])
    /// Keys and values.
    case map([Pair])
    /// Scalars of one type, little-endian one after the other.
    case scalars(Scalars)
    /// A structure or other value with keys.
    case record(ArchivedRecord)
    /// An object, by its index in the graph.
    case reference(Int)

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

/// Keys and values of an object or a structure in an archive, with the name and version of its class or type.
public struct ArchivedRecord: Sendable, Hashable {
    let shape: Shape
    /// The keys, where they stand in the archive beside the values instead of in the shape.
    private(set) var ownKeys: [String]?
    /// The values, in the order of `keys`; of an object that is a single value just that.
    public internal(set) var values: [ArchivedValue]

    init(shape: Shape, ownKeys: [String]? = nil, values: [ArchivedValue]) {
        self.shape = shape
        self.ownKeys = ownKeys
        self.values = values
    }

    /// The name of the class or type; empty for containers without a type.
    public var typeName: String { shape.name }

    /// The version of the class.
    public var version: Int { shape.version }

    /// The keys in the order written; empty for an object that is a single value.
    public var keys: [String] { ownKeys ?? shape.keyNames }

    /// The value for a key.
    public subscript(key: String) -> ArchivedValue? {
        let position = ownKeys == nil ? shape.position(of: key) : ownKeys?.firstIndex(of: key)
        return position.map { values[$0] }
    }
}
