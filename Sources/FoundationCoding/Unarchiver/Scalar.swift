import KeyedArchive

/// Converts the numbers of an archive to the requested types.
enum Scalar {
    static func integer<T: FixedWidthInteger>(_ value: ArchivedValue) throws -> T {
        let result: T?
        switch value {
        case .bool(let value): result = value ? 1 : 0
        case .integer(let value): result = T(exactly: value)
        case .unsigned(let value): result = T(exactly: value)
        case .wide(let value): result = T(exactly: value)
        case .float(let bits): result = T(exactly: Float(bitPattern: bits).rounded(.towardZero))
        case .double(let bits): result = T(exactly: Double(bitPattern: bits).rounded(.towardZero))
        default: throw ArchiveError(.typeMismatch, "expected a number, found \(kind(value))")
        }
        guard let result else { throw ArchiveError(.outOfRange, "the number does not fit \(T.self)") }
        return result
    }

    static func real(_ value: ArchivedValue) throws -> Double {
        switch value {
        case .bool(let value): value ? 1 : 0
        case .integer(let value): Double(value)
        case .unsigned(let value): Double(value)
        case .wide(let value): Double(value)
        case .float(let bits): Double(Float(bitPattern: bits))
        case .double(let bits): Double(bitPattern: bits)
        default: throw ArchiveError(.typeMismatch, "expected a number, found \(kind(value))")
        }
    }

    static func bool(_ value: ArchivedValue) throws -> Bool {
        if case .bool(let value) = value { return value }
        return try real(value) != 0
    }

    /// The kind of a value, for messages; never the value itself.
    static func kind(_ value: ArchivedValue) -> String {
        switch value {
        case .null: "nil"
        case .bool: "a truth value"
        case .integer, .unsigned, .wide, .unsignedWide: "an integer"
        case .float, .double: "a real"
        case .string, .brokenString: "a string"
        case .data: "bytes"
        case .date: "a date"
        case .list, .set: "a list"
        case .map: "a dictionary"
        case .reference: "an object"
        default: "another value"
        }
    }
}
