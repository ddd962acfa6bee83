// The protocol requires one function for each type; they differ in nothing else.
extension UnkeyedValueDecoder {
    mutating func decode(_ type: Bool.Type) throws -> Bool {
        try next(type) { try $0.readBool() }
    }

    mutating func decode(_ type: String.Type) throws -> String {
        try next(type) { try $0.readString() }
    }

    mutating func decode(_ type: Double.Type) throws -> Double {
        try next(type) { try $0.readDouble() }
    }

    mutating func decode(_ type: Float.Type) throws -> Float {
        try next(type) { try $0.readFloat() }
    }

    mutating func decode(_ type: Int.Type) throws -> Int {
        try next(type) { try $0.readInteger(Int.self) }
    }

    mutating func decode(_ type: Int8.Type) throws -> Int8 {
        try next(type) { try $0.readInteger(Int8.self) }
    }

    mutating func decode(_ type: Int16.Type) throws -> Int16 {
        try next(type) { try $0.readInteger(Int16.self) }
    }

    mutating func decode(_ type: Int32.Type) throws -> Int32 {
        try next(type) { try $0.readInteger(Int32.self) }
    }

    mutating func decode(_ type: Int64.Type) throws -> Int64 {
        try next(type) { try $0.readInteger(Int64.self) }
    }

    mutating func decode(_ type: UInt.Type) throws -> UInt {
        try next(type) { try $0.readInteger(UInt.self) }
    }

    mutating func decode(_ type: UInt8.Type) throws -> UInt8 {
        try next(type) { try $0.readInteger(UInt8.self) }
    }

    mutating func decode(_ type: UInt16.Type) throws -> UInt16 {
        try next(type) { try $0.readInteger(UInt16.self) }
    }

    mutating func decode(_ type: UInt32.Type) throws -> UInt32 {
        try next(type) { try $0.readInteger(UInt32.self) }
    }

    mutating func decode(_ type: UInt64.Type) throws -> UInt64 {
        try next(type) { try $0.readInteger(UInt64.self) }
    }

    @available(macOS 15.0, *)
    mutating func decode(_ type: Int128.Type) throws -> Int128 {
        try next(type) { try $0.readInteger(Int128.self) }
    }

    @available(macOS 15.0, *)
    mutating func decode(_ type: UInt128.Type) throws -> UInt128 {
        try next(type) { try $0.readInteger(UInt128.self) }
    }
}
