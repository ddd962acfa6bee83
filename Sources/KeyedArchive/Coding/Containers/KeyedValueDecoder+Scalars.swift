// The protocol requires one function for each type; they differ in nothing else.
extension KeyedValueDecoder {
    func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool {
        try at(key) { try coder.readBool() }
    }

    func decode(_ type: String.Type, forKey key: Key) throws -> String {
        try at(key) { try coder.readString() }
    }

    func decode(_ type: Double.Type, forKey key: Key) throws -> Double {
        try at(key) { try coder.readDouble() }
    }

    func decode(_ type: Float.Type, forKey key: Key) throws -> Float {
        try at(key) { try coder.readFloat() }
    }

    func decode(_ type: Int.Type, forKey key: Key) throws -> Int {
        if let small = small(key) { return Int(truncatingIfNeeded: small) }
        return try at(key) { try coder.readInteger(Int.self) }
    }

    func decode(_ type: Int8.Type, forKey key: Key) throws -> Int8 {
        if let small = small(key) { return Int8(truncatingIfNeeded: small) }
        return try at(key) { try coder.readInteger(Int8.self) }
    }

    func decode(_ type: Int16.Type, forKey key: Key) throws -> Int16 {
        if let small = small(key) { return Int16(truncatingIfNeeded: small) }
        return try at(key) { try coder.readInteger(Int16.self) }
    }

    func decode(_ type: Int32.Type, forKey key: Key) throws -> Int32 {
        if let small = small(key) { return Int32(truncatingIfNeeded: small) }
        return try at(key) { try coder.readInteger(Int32.self) }
    }

    func decode(_ type: Int64.Type, forKey key: Key) throws -> Int64 {
        if let small = small(key) { return Int64(truncatingIfNeeded: small) }
        return try at(key) { try coder.readInteger(Int64.self) }
    }

    func decode(_ type: UInt.Type, forKey key: Key) throws -> UInt {
        if let small = small(key) { return UInt(truncatingIfNeeded: small) }
        return try at(key) { try coder.readInteger(UInt.self) }
    }

    func decode(_ type: UInt8.Type, forKey key: Key) throws -> UInt8 {
        if let small = small(key) { return UInt8(truncatingIfNeeded: small) }
        return try at(key) { try coder.readInteger(UInt8.self) }
    }

    func decode(_ type: UInt16.Type, forKey key: Key) throws -> UInt16 {
        if let small = small(key) { return UInt16(truncatingIfNeeded: small) }
        return try at(key) { try coder.readInteger(UInt16.self) }
    }

    func decode(_ type: UInt32.Type, forKey key: Key) throws -> UInt32 {
        if let small = small(key) { return UInt32(truncatingIfNeeded: small) }
        return try at(key) { try coder.readInteger(UInt32.self) }
    }

    func decode(_ type: UInt64.Type, forKey key: Key) throws -> UInt64 {
        if let small = small(key) { return UInt64(truncatingIfNeeded: small) }
        return try at(key) { try coder.readInteger(UInt64.self) }
    }

    @available(macOS 15.0, *)
    func decode(_ type: Int128.Type, forKey key: Key) throws -> Int128 {
        try at(key) { try coder.readInteger(Int128.self) }
    }

    @available(macOS 15.0, *)
    func decode(_ type: UInt128.Type, forKey key: Key) throws -> UInt128 {
        try at(key) { try coder.readInteger(UInt128.self) }
    }
}
