// The protocol requires one function for each type; they differ in nothing else.
extension SingleValueDecoder {
    func decode(_ type: Bool.Type) throws -> Bool {
        try once(type) { try coder.readBool() }
    }

    func decode(_ type: String.Type) throws -> String {
        try once(type) { try coder.readString() }
    }

    func decode(_ type: Double.Type) throws -> Double {
        try once(type) { try coder.readDouble() }
    }

    func decode(_ type: Float.Type) throws -> Float {
        try once(type) { try coder.readFloat() }
    }

    func decode(_ type: Int.Type) throws -> Int {
        try once(type) { try coder.readInteger(Int.self) }
    }

    func decode(_ type: Int8.Type) throws -> Int8 {
        try once(type) { try coder.readInteger(Int8.self) }
    }

    func decode(_ type: Int16.Type) throws -> Int16 {
        try once(type) { try coder.readInteger(Int16.self) }
    }

    func decode(_ type: Int32.Type) throws -> Int32 {
        try once(type) { try coder.readInteger(Int32.self) }
    }

    func decode(_ type: Int64.Type) throws -> Int64 {
        try once(type) { try coder.readInteger(Int64.self) }
    }

    func decode(_ type: UInt.Type) throws -> UInt {
        try once(type) { try coder.readInteger(UInt.self) }
    }

    func decode(_ type: UInt8.Type) throws -> UInt8 {
        try once(type) { try coder.readInteger(UInt8.self) }
    }

    func decode(_ type: UInt16.Type) throws -> UInt16 {
        try once(type) { try coder.readInteger(UInt16.self) }
    }

    func decode(_ type: UInt32.Type) throws -> UInt32 {
        try once(type) { try coder.readInteger(UInt32.self) }
    }

    func decode(_ type: UInt64.Type) throws -> UInt64 {
        try once(type) { try coder.readInteger(UInt64.self) }
    }

    @available(macOS 15.0, *)
    func decode(_ type: Int128.Type) throws -> Int128 {
        try once(type) { try coder.readInteger(Int128.self) }
    }

    @available(macOS 15.0, *)
    func decode(_ type: UInt128.Type) throws -> UInt128 {
        try once(type) { try coder.readInteger(UInt128.self) }
    }
}
