#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Values in the forms that Foundation's coders give them inside `Codable` values.
extension ObjectDecoder {
    private func isString(_ tag: UInt8) -> Bool { tag & 0xC0 == Tag.firstString || tag == Tag.string }

    /// Reads a Boolean, a whole real or digits as an integer.
    func readForeignInteger<T: FixedWidthInteger>(_ type: T.Type) throws -> T? {
        guard let tag = input.next else { return nil }
        switch tag {
        case Tag.isTrue, Tag.isFalse:
            return try readBool() ? 1 : 0
        case Tag.double, Tag.float:
            guard let number = T(exactly: try readDouble()) else {
                throw ArchiveError(.outOfRange, "the number is not whole, or does not fit \(T.self)")
            }
            return number
        case Tag.firstString...Tag.lastString, Tag.string:
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
        if tag == Tag.map { return try readCodable(ForeignURL.self).url() }
        guard isString(tag) else { return nil }
        guard let url = URL(string: try readString()) else {
            throw ArchiveError(.corrupt, "an invalid URL")
        }
        return url
    }

    func readForeignDecimal() throws -> Decimal? {
        guard let tag = input.next else { return nil }
        switch tag {
        case Tag.map: return try readCodable(ForeignDecimal.self).decimal()
        case 0...0x7F, Tag.integer: return Decimal(try readInteger(Int64.self))
        case Tag.unsigned: return Decimal(try readInteger(UInt64.self))
        case Tag.double, Tag.float: return Decimal(try readDouble())
        default: return nil
        }
    }

    // MARK: Collections

    /// Opens a dictionary, or a list of alternating keys and values; returns the count of pairs.
    func openDictionary() throws -> Int {
        if foreign != nil, input.take(Tag.list) {
            let count = try input.elementCount(limits)
            guard count & 1 == 0 else { throw ArchiveError(.typeMismatch, "expected alternating keys and values") }
            return count / 2
        }
        try expect(Tag.map, "a dictionary")
        return try input.pairCount(limits)
    }

    /// Reads a key of a dictionary.
    @inline(__always)
    func readKey<Key: Decodable>(_ reader: ValueReader<Key>) throws -> Key { try reader.read(self) }

    /// Expects the tag of an optional in an optional; other archivers do not write it.
    func expectOptional() throws {
        if foreign != nil, input.next != Tag.some { return }
        try expect(Tag.some, "an optional")
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
