// The protocol requires one function for each type; they differ in nothing else.
extension SingleValueEncoder {
    func encode(_ value: Bool) throws {
        try next(value) { coder.output.boolean(value) }
    }

    func encode(_ value: String) throws {
        try next(value) { try coder.write(string: value) }
    }

    func encode(_ value: Double) throws {
        try next(value) { coder.output.double(value) }
    }

    func encode(_ value: Float) throws {
        try next(value) { coder.output.float(value) }
    }

    func encode(_ value: Int) throws {
        try next(value) { coder.output.integer(Int64(value)) }
    }

    func encode(_ value: Int8) throws {
        try next(value) { coder.output.integer(Int64(value)) }
    }

    func encode(_ value: Int16) throws {
        try next(value) { coder.output.integer(Int64(value)) }
    }

    func encode(_ value: Int32) throws {
        try next(value) { coder.output.integer(Int64(value)) }
    }

    func encode(_ value: Int64) throws {
        try next(value) { coder.output.integer(Int64(value)) }
    }

    func encode(_ value: UInt) throws {
        try next(value) { coder.output.unsigned(UInt64(value)) }
    }

    func encode(_ value: UInt8) throws {
        try next(value) { coder.output.unsigned(UInt64(value)) }
    }

    func encode(_ value: UInt16) throws {
        try next(value) { coder.output.unsigned(UInt64(value)) }
    }

    func encode(_ value: UInt32) throws {
        try next(value) { coder.output.unsigned(UInt64(value)) }
    }

    func encode(_ value: UInt64) throws {
        try next(value) { coder.output.unsigned(UInt64(value)) }
    }

    @available(macOS 15.0, *)
    func encode(_ value: Int128) throws {
        try next(value) { coder.output.wide(value) }
    }

    @available(macOS 15.0, *)
    func encode(_ value: UInt128) throws {
        try next(value) { coder.output.wide(value) }
    }
}
