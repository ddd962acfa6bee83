// The protocol requires one function for each type; they differ in nothing else.
extension KeyedValueEncoder {
    mutating func encode(_ value: Bool, forKey key: Key) throws {
        if takes(key) { return output.boolean(value) }
        try at(key, value) { coder.output.boolean(value) }
    }

    mutating func encode(_ value: Double, forKey key: Key) throws {
        if takes(key) { return output.double(value) }
        try at(key, value) { coder.output.double(value) }
    }

    mutating func encode(_ value: Float, forKey key: Key) throws {
        if takes(key) { return output.float(value) }
        try at(key, value) { coder.output.float(value) }
    }

    mutating func encode(_ value: Int, forKey key: Key) throws {
        if takes(key) { return output.integer(Int64(value)) }
        try at(key, value) { coder.output.integer(Int64(value)) }
    }

    mutating func encode(_ value: Int8, forKey key: Key) throws {
        if takes(key) { return output.integer(Int64(value)) }
        try at(key, value) { coder.output.integer(Int64(value)) }
    }

    mutating func encode(_ value: Int16, forKey key: Key) throws {
        if takes(key) { return output.integer(Int64(value)) }
        try at(key, value) { coder.output.integer(Int64(value)) }
    }

    mutating func encode(_ value: Int32, forKey key: Key) throws {
        if takes(key) { return output.integer(Int64(value)) }
        try at(key, value) { coder.output.integer(Int64(value)) }
    }

    mutating func encode(_ value: Int64, forKey key: Key) throws {
        if takes(key) { return output.integer(Int64(value)) }
        try at(key, value) { coder.output.integer(Int64(value)) }
    }

    mutating func encode(_ value: UInt, forKey key: Key) throws {
        if takes(key) { return output.unsigned(UInt64(value)) }
        try at(key, value) { coder.output.unsigned(UInt64(value)) }
    }

    mutating func encode(_ value: UInt8, forKey key: Key) throws {
        if takes(key) { return output.unsigned(UInt64(value)) }
        try at(key, value) { coder.output.unsigned(UInt64(value)) }
    }

    mutating func encode(_ value: UInt16, forKey key: Key) throws {
        if takes(key) { return output.unsigned(UInt64(value)) }
        try at(key, value) { coder.output.unsigned(UInt64(value)) }
    }

    mutating func encode(_ value: UInt32, forKey key: Key) throws {
        if takes(key) { return output.unsigned(UInt64(value)) }
        try at(key, value) { coder.output.unsigned(UInt64(value)) }
    }

    mutating func encode(_ value: UInt64, forKey key: Key) throws {
        if takes(key) { return output.unsigned(UInt64(value)) }
        try at(key, value) { coder.output.unsigned(UInt64(value)) }
    }

    @available(macOS 15.0, *)
    mutating func encode(_ value: Int128, forKey key: Key) throws {
        if takes(key) { return output.wide(value) }
        try at(key, value) { coder.output.wide(value) }
    }

    @available(macOS 15.0, *)
    mutating func encode(_ value: UInt128, forKey key: Key) throws {
        if takes(key) { return output.wide(value) }
        try at(key, value) { coder.output.wide(value) }
    }
}
