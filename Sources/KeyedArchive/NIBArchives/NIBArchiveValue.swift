/// A value of a NIBArchive.
public enum NIBArchiveValue: Sendable, Hashable {
    /// An integer in one byte.
    case int8(Int8)
    /// An integer in two bytes.
    case int16(Int16)
    /// An integer in four bytes.
    case int32(Int32)
    /// An integer in eight bytes; some archivers write small ones so, too.
    case int64(Int64)
    /// A Boolean.
    case bool(Bool)
    /// The bits of a `Float`, so that every NaN is kept and equal to itself.
    case float(bits: UInt32)
    /// The bits of a `Double`.
    case double(bits: UInt64)
    /// Bytes, also the UTF-8 of strings and packed points, sizes and colours.
    case data(ArchivedText)
    /// Nil.
    case null
    /// An object, by its index in the graph.
    case reference(Int)

    /// The byte in front of a value.
    enum Kind: UInt8 {
        case int8
        case int16
        case int32
        case int64
        case `false`
        case `true`
        case float
        case double
        case data
        case null
        case reference
    }

    /// Reads a value behind its key.
    init(_ source: inout NIBArchiveSource, _ index: NIBArchiveIndex) throws {
        switch Kind(rawValue: try source.byte()) {
        case .int8: self = .int8(Int8(bitPattern: try source.byte()))
        case .int16: self = .int16(try source.fixed(Int16.self))
        case .int32: self = .int32(try source.fixed(Int32.self))
        case .int64: self = .int64(try source.fixed(Int64.self))
        case .false: self = .bool(false)
        case .true: self = .bool(true)
        case .float: self = .float(bits: try source.fixed(UInt32.self))
        case .double: self = .double(bits: try source.fixed(UInt64.self))
        case .data: self = .data(ArchivedText(index.bytes, try source.bytes(limit: Int.max)))
        case .null, nil: self = .null
        case .reference: self = .reference(Int(try source.fixed(UInt32.self)))
        }
    }
}
