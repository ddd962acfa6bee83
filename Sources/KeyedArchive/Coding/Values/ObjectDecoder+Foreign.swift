#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Values in the forms that their own `encode(to:)` gives them, and in those of Foundation's coders.
extension ObjectDecoder {
    private func isString(_ tag: UInt8) -> Bool { tag & 0xC0 == Tag.firstString || tag == Tag.string }

    /// Reads a whole real as an integer; nil if another value comes next.
    func readWhole<T: FixedWidthInteger>(_ type: T.Type) throws -> T? {
        guard input.next == Tag.double || input.next == Tag.float else { return nil }
        guard let number = T(exactly: try readDouble()) else {
            throw ArchiveError(.outOfRange, "the number is not whole, or does not fit \(T.self)")
        }
        return number
    }

    /// Reads a Boolean as an integer, and digits where an integer has no other form; nil if another value comes next.
    func readForeignInteger<T: FixedWidthInteger>(_ type: T.Type) throws -> T? {
        guard let tag = input.next else { return nil }
        switch tag {
        case Tag.isTrue, Tag.isFalse:
            return try readBool() ? 1 : 0
        case Tag.firstString...Tag.lastString, Tag.string:
            // Anywhere else, a type that tries an integer first would take a string of digits for one.
            guard T.bitWidth > 64 || state.depth > 0 && state.levels.levels[state.depth - 1].isBeforeKey else {
                return nil
            }
            let start = input.position
            if let number = T(try readString()) { return number }
            input.seek(to: start)
            return nil
        default: return nil
        }
    }

    func readForeignUUID() throws -> UUID? {
        guard let tag = input.next, isString(tag) else { return nil }
        guard let uuid = UUID(uuidString: try readString()) else {
            throw ArchiveError(.corrupt, "an invalid UUID")
        }
        return uuid
    }

    func readForeignURL() throws -> URL? {
        guard let tag = input.next else { return nil }
        if tag == Tag.map || tag == Tag.record { return try readCodable(ForeignURL.self).url() }
        guard foreign != nil, isString(tag) else { return nil }
        guard let url = URL(string: try readString()) else {
            throw ArchiveError(.corrupt, "an invalid URL")
        }
        return url
    }

    func readForeignDecimal() throws -> Decimal? {
        guard let tag = input.next else { return nil }
        switch tag {
        case Tag.map, Tag.record: return try readCodable(ForeignDecimal.self).decimal()
        case _ where foreign == nil: return nil
        case 0...0x7F, Tag.integer: return Decimal(try readInteger(Int64.self))
        case Tag.unsigned: return Decimal(try readInteger(UInt64.self))
        case Tag.double, Tag.float: return Decimal(try readDouble())
        default: return nil
        }
    }

    // MARK: Collections

    /// Whether the next value is a dictionary as its own `encode(to:)` writes it: with keys, or as a list.
    @inline(__always)
    var isDictionaryByParts: Bool {
        let tag = input.next
        return tag == Tag.record || tag == Tag.list && foreign == nil
    }

    /// Opens a dictionary, or a list of alternating keys and values; returns the count of pairs.
    func openDictionary() throws -> Int {
        if foreign != nil, input.take(Tag.list) {
            let count = try input.elementCount(limits)
            guard count & 1 == 0 else {
                throw ArchiveError(expected: [String: Any].self, "expected alternating keys and values")
            }
            return count / 2
        }
        try expect(Tag.map, "a dictionary", [String: Any].self)
        return try input.pairCount(limits)
    }

    /// Reads the key of an entry of a dictionary.
    @inline(__always)
    func readKey<Key: Decodable>(_ reader: ValueReader<Key>, _ index: Int) throws -> Key {
        let start = input.base + input.position
        state.levels.levels[state.depth &- 1].note(entry: index, key: nil)
        let key: Key
        do { key = try reader.read(self) } catch { throw failedEntry(error) }
        state.levels.levels[state.depth &- 1].note(entry: index, key: start)
        return key
    }

    /// The error for an entry of a dictionary, with its key in front of the path.
    @inline(never)
    func failedEntry(_ error: any Error) -> ArchiveError {
        ArchiveError.wrapping(error, at: state.levels.levels[state.depth - 1].elementStep)
    }

    /// Expects the tag of an optional in an optional; other archivers do not write it.
    func expectOptional() throws {
        if foreign != nil, input.next != Tag.some { return }
        try expect(Tag.some, "an optional", Any?.self)
    }
}

/// A URL as its own `Codable` conformance encodes it.
private struct ForeignURL: Decodable {
    let relative: String
    let base: [ForeignURL]

    private enum CodingKeys: CodingKey { case relative, base }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        relative = try container.decode(String.self, forKey: .relative)
        base = try container.decodeIfPresent(ForeignURL.self, forKey: .base).map { [$0] } ?? []
    }

    func url() throws -> URL {
        guard let url = URL(string: relative, relativeTo: try base.first?.url()) else {
            throw ArchiveError(.corrupt, "an invalid URL")
        }
        return url
    }
}

/// A decimal as its own `Codable` conformance encodes it.
private struct ForeignDecimal: Decodable {
    let exponent: Int
    let length: Int
    let isNegative: Bool
    let mantissa: [UInt16]

    func decimal() throws -> Decimal {
        if length == 0, isNegative { return .nan }
        guard DecimalText.exponents.contains(Int64(exponent)), mantissa.count <= 8 else { throw DecimalText.broken() }
        var magnitude: UInt128 = 0
        for word in mantissa.reversed() { magnitude = magnitude << 16 | UInt128(word) }
        return try DecimalText.decimal((isNegative ? "-" : "") + magnitude.description, exponent: Int64(exponent))
    }
}
