import Foundation
import KeyedArchive

/// The binary form of property lists before that of `bplist00`, as `encodePropertyList:` writes it.
///
///     04 00 00 00  bytes: the length, the bytes, zeros up to a multiple of 4
///     05 00 00 00  a string in the character set of NEXTSTEP, in the same form
///     06 00 00 00  a string in UTF-16 with a byte order mark, in the same form
///     02 00 00 00  an array: the count, the length of each element, the elements
///     07 00 00 00  a dictionary: the count, the keys, the length of each value, the values
///     08 00 00 00  nil
///
/// Its numbers are little-endian in each file.
struct OldPropertyList {
    private enum Kind: UInt32 {
        case array = 2
        case data = 4
        case nextStepString = 5
        case string = 6
        case dictionary = 7
        case null = 8
    }

    /// How deep values may be nested: reading and writing recurse.
    private static func deepest(_ limits: ArchiveLimits) -> Int { min(limits.depth, 64) }

    // MARK: Reading

    private let bytes: [UInt8]
    private let limits: ArchiveLimits
    private var position = 0

    init(_ data: Data, limits: ArchiveLimits) {
        bytes = Array(data)
        self.limits = limits
    }

    /// The objects of the whole list; nil for a list that is nil.
    ///
    /// - Throws: `ArchiveError` if the bytes are no property list, or are more than that.
    func object() throws -> NSObject? {
        var reader = self
        let object = try reader.element(end: bytes.count, depth: 0)
        guard reader.position == bytes.count else {
            throw ArchiveError(.corrupt, "\(bytes.count - reader.position) bytes behind an old property list")
        }
        return object
    }

    private mutating func number(end: Int) throws -> Int {
        guard end - position >= 4 else { throw ArchiveError(.truncated, "an old property list that is cut off") }
        defer { position += 4 }
        return (0..<4).reduce(0) { $0 | Int(bytes[position + $1]) << (8 * $1) }
    }

    private mutating func element(end: Int, depth: Int) throws -> NSObject? {
        guard depth < Self.deepest(limits) else {
            throw ArchiveError(.limit, "an old property list nested more than \(Self.deepest(limits)) deep")
        }
        let number = try number(end: end)
        switch Kind(rawValue: UInt32(number)) {
        case .null: return nil
        case .data: return NSData(data: Data(try content(end: end)))
        case .nextStepString: return try string(.nextstep, end: end)
        case .string: return try string(.utf16, end: end)
        case .array:
            let count = try count(end: end)
            let lengths = try (0..<count).map { _ in try self.number(end: end) }
            return NSArray(array: try values(lengths, end: end, depth: depth))
        case .dictionary:
            let count = try count(end: end)
            let keys = try (0..<count).map { _ in try element(end: end, depth: depth + 1) ?? NSNull() }
            let lengths = try (0..<count).map { _ in try self.number(end: end) }
            let values = try values(lengths, end: end, depth: depth)
            let dictionary = try Hashing.dictionary(keys, values, into: nil)
            return dictionary.copy() as? NSDictionary ?? dictionary
        case nil: throw ArchiveError(.corrupt, "expected the kind of a value of an old property list, found \(number)")
        }
    }

    private mutating func count(end: Int) throws -> Int {
        let count = try number(end: end)
        guard count <= (end - position) / 4 else {
            throw ArchiveError(.truncated, "an old property list of \(count) values that are not there")
        }
        return count
    }

    private mutating func values(_ lengths: [Int], end: Int, depth: Int) throws -> [NSObject] {
        try lengths.map { length in
            guard length <= end - position else {
                throw ArchiveError(
                    .truncated, "an old property list with a value of \(length) bytes that are not there")
            }
            let next = position + length
            let value = try element(end: next, depth: depth + 1) ?? NSNull()
            position = next
            return value
        }
    }

    private mutating func content(end: Int) throws -> ArraySlice<UInt8> {
        let length = try number(end: end)
        guard length <= end - position else {
            throw ArchiveError(.truncated, "an old property list with \(length) bytes that are not there")
        }
        let content = bytes[position..<position + length]
        position = min(end, (position + length).rounded(up: 4))
        return content
    }

    private mutating func string(_ encoding: String.Encoding, end: Int) throws -> NSObject {
        let content = try content(end: end)
        guard let text = String(bytes: content, encoding: encoding) else {
            throw ArchiveError(.corrupt, "a string of an old property list that is not in its encoding")
        }
        return NSString(string: text)
    }

    // MARK: Writing

    /// The bytes of a property list.
    ///
    /// - Throws: `ArchiveError` for what is neither a string, bytes, an array, a dictionary nor null.
    static func data(_ object: AnyObject?, isBigEndian: Bool, limits: ArchiveLimits) throws -> Data {
        var data = Data()
        try append(object, to: &data, isBigEndian, deepest(limits))
        return data
    }

    private static func append(_ number: Int, to data: inout Data) throws {
        guard let number = UInt32(exactly: number) else { throw ArchiveError(.limit, "an old property list of 4 GiB") }
        for shift in 0..<4 { data.append(UInt8(truncatingIfNeeded: number >> (8 * UInt32(shift)))) }
    }

    private static func append(_ kind: Kind, _ content: Data, to data: inout Data) throws {
        try append(Int(kind.rawValue), to: &data)
        try append(content.count, to: &data)
        data.append(content)
        data.append(Data(count: content.count.rounded(up: 4) - content.count))
    }

    private static func append(
        _ object: AnyObject?, to data: inout Data, _ isBigEndian: Bool, _ depth: Int
    ) throws {
        guard depth > 0 else { throw ArchiveError(.limit, "an old property list that is nested too deep") }
        func parts(_ objects: [AnyObject]) throws -> [Data] {
            try objects.map {
                var data = Data()
                try append($0, to: &data, isBigEndian, depth - 1)
                return data
            }
        }
        switch object {
        case nil, is NSNull: try append(Int(Kind.null.rawValue), to: &data)
        case let text as NSString:
            let units = [0xFEFF] + Array((text as String).utf16)
            let content = units.flatMap { unit -> [UInt8] in
                let (high, low) = (UInt8(unit >> 8), UInt8(truncatingIfNeeded: unit))
                return isBigEndian ? [high, low] : [low, high]
            }
            try append(.string, Data(content), to: &data)
        case let bytes as NSData: try append(.data, NativeEncoding.bytes(of: bytes), to: &data)
        case let array as NSArray:
            let elements = try parts(RawElements.list(array))
            try append(Int(Kind.array.rawValue), to: &data)
            try append(elements.count, to: &data)
            for element in elements { try append(element.count, to: &data) }
            for element in elements { data.append(element) }
        case let dictionary as NSDictionary:
            let pairs = RawElements.pairs(dictionary)
            let values = try parts(pairs.map(\.value))
            try append(Int(Kind.dictionary.rawValue), to: &data)
            try append(pairs.count, to: &data)
            for key in try parts(pairs.map(\.key)) { data.append(key) }
            for value in values { try append(value.count, to: &data) }
            for value in values { data.append(value) }
        case let other?:
            throw ArchiveError(
                .unsupported,
                "\(ClassNames.name(of: type(of: other))) in an old property list, which has strings, bytes, arrays and "
                    + "dictionaries only")
        }
    }
}
