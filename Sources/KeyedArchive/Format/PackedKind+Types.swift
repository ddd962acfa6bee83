extension PackedKind {
    /// The kind of a scalar type whose arrays are archived in their memory layout; nil for other types.
    static func of(_ type: Any.Type) -> PackedKind? {
        switch ObjectIdentifier(type) {
        case ObjectIdentifier(Int.self), ObjectIdentifier(Int64.self): .int64
        case ObjectIdentifier(UInt.self), ObjectIdentifier(UInt64.self): .uint64
        case ObjectIdentifier(Double.self): .double
        case ObjectIdentifier(Float.self): .float
        case ObjectIdentifier(Int32.self): .int32
        case ObjectIdentifier(UInt32.self): .uint32
        case ObjectIdentifier(Int16.self): .int16
        case ObjectIdentifier(UInt16.self): .uint16
        case ObjectIdentifier(Int8.self): .int8
        case ObjectIdentifier(UInt8.self): .uint8
        case ObjectIdentifier(Bool.self): .bool
        default: nil
        }
    }
}
