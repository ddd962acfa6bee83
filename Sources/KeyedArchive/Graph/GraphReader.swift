#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension ArchivedRecord {
    fileprivate init(_ shape: Shape, _ keys: [String], _ values: [ArchivedValue]) {
        self.init(typeName: shape.name, version: shape.version, storedKeys: keys, values: values)
    }
}

/// Reads values that passed `GraphCheck`.
///
/// Recursion follows only values inside one object, whose depth is limited.
struct GraphReader {
    let shapes: [Shape]
    let objectCount: Int
    let limits: ArchiveLimits
    /// Keeps the archive alive if `Data` is lent, see `Data.init(lending:owner:)`; nil if it is copied.
    private let lender: AnyObject?
    private var nesting: Nesting

    init(shapes: [Shape], objectCount: Int, limits: ArchiveLimits, lender: AnyObject? = nil) {
        self.shapes = shapes
        self.objectCount = objectCount
        self.limits = limits
        self.lender = lender
        nesting = Self.nesting(limits, bytes: nil)
    }

    /// More levels than writers allow: readers of other formats, whose archives may be converted, count levels differently.
    ///
    /// - Parameter bytes: The size of what is read, unless it was checked before.
    static func nesting(_ limits: ArchiveLimits, bytes: Int?) -> Nesting { Nesting(limits, more: 32, bytes: bytes) }

    static func noSuchObject() -> ArchiveError { ArchiveError(.corrupt, "an object that is not in the archive") }

    mutating func roots(_ source: ByteSource) throws -> ArchivedRecord {
        var source = source
        guard case .record(let roots) = try value(&source) else {
            throw ArchiveError(.corrupt, "the archive has no keys")
        }
        try source.expectEnd()
        return roots
    }

    mutating func object(_ number: Int, _ body: ByteSource) throws -> ArchivedRecord {
        var body = body
        let shape = try body.shape(.object, shapes)
        do {
            let record = try record(shape, &body)
            try body.expectEnd()
            return record
        } catch {
            throw ArchiveError.wrapping(error, at: .index(number))
        }
    }

    private mutating func record(_ shape: Shape, _ source: inout ByteSource) throws -> ArchivedRecord {
        switch shape.layout {
        case .single: return ArchivedRecord(shape, [], [try value(&source)])
        case .keyed:
            guard shape.keyCount <= source.remaining else { throw ByteSource.truncated() }
            return ArchivedRecord(shape, shape.keyNames, try values(shape.keyCount, &source))
        case .explicit:
            let count = try source.count(eachAtLeast: 2, limit: limits.collection, "keys")
            var keys: [String] = []
            var values: [ArchivedValue] = []
            for _ in 0..<count {
                keys.append(try source.stringValue(limits))
                values.append(try value(&source))
            }
            guard Set(keys).count == count else { throw ArchiveError(.corrupt, "a key occurs twice in a value") }
            return ArchivedRecord(shape, keys, values)
        }
    }

    private mutating func values(_ count: Int, _ source: inout ByteSource) throws -> [ArchivedValue] {
        var values: [ArchivedValue] = []
        values.reserveCapacity(count)
        for _ in 0..<count { values.append(try value(&source)) }
        return values
    }

    private func reference(_ number: UInt64) throws -> ArchivedValue {
        guard number < UInt64(objectCount) else { throw Self.noSuchObject() }
        return .reference(Int(number))
    }

    private mutating func value(_ source: inout ByteSource) throws -> ArchivedValue {
        let start = source.position
        let tag = try source.byte()
        switch tag {
        case Tag.some, Tag.list, Tag.set, Tag.map, Tag.record: return try container(tag, &source)
        default:
            source.seek(to: start)
            return try leaf(&source)
        }
    }

    // One function for each kind of value keeps the stack frames of nested values small.

    private mutating func container(_ tag: UInt8, _ source: inout ByteSource) throws -> ArchivedValue {
        let isSegmentFull = try nesting.enter()
        defer { nesting.leave() }
        if isSegmentFull { return try StackSegment.run { try content(tag, &source) } }
        return try content(tag, &source)
    }

    private mutating func content(_ tag: UInt8, _ source: inout ByteSource) throws -> ArchivedValue {
        switch tag {
        case Tag.list: return try list(&source)
        case Tag.set: return try set(&source)
        case Tag.map: return try map(&source)
        case Tag.record: return try record(&source)
        default: return .present(try value(&source))
        }
    }

    private mutating func list(_ source: inout ByteSource) throws -> ArchivedValue {
        let count = try source.elementCount(limits)
        return .list(try values(count, &source))
    }

    private mutating func set(_ source: inout ByteSource) throws -> ArchivedValue {
        let count = try source.elementCount(limits)
        return .set(try values(count, &source))
    }

    private mutating func map(_ source: inout ByteSource) throws -> ArchivedValue {
        let count = try source.pairCount(limits)
        var pairs: [ArchivedValue.Pair] = []
        pairs.reserveCapacity(count)
        for _ in 0..<count { pairs.append(.init(try value(&source), try value(&source))) }
        return .map(pairs)
    }

    private mutating func record(_ source: inout ByteSource) throws -> ArchivedValue {
        let shape = try source.shape(.record, shapes)
        return .record(try record(shape, &source))
    }

    private func leaf(_ source: inout ByteSource) throws -> ArchivedValue {
        let start = source.position
        let tag = try source.byte()
        switch tag {
        case 0...0x7F: return .integer(Int64(tag))
        case Tag.firstString...Tag.lastString, Tag.string:
            source.seek(to: start)
            return .string(try source.stringValue(limits))
        case Tag.none: return .null
        case Tag.isFalse: return .bool(false)
        case Tag.isTrue: return .bool(true)
        case Tag.integer: return .integer(try source.zigzag())
        case Tag.unsigned: return .unsigned(try source.varint())
        case Tag.int128: return .wide(try source.fixed(Int128.self))
        case Tag.uint128: return .unsignedWide(try source.fixed(UInt128.self))
        case Tag.float: return .float(bits: try source.fixed(UInt32.self))
        case Tag.double: return .double(bits: try source.fixed(UInt64.self))
        case Tag.date: return .date(bits: try source.fixed(UInt64.self))
        case Tag.bytes: return .data(try bytes(try source.length(), &source))
        case Tag.uuid:
            let bytes = try bytes(16, &source)
            return .uuid(bytes.withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) })
        case Tag.url: return try url(&source)
        case Tag.decimal:
            let (digits, exponent) = try source.decimal(limits)
            return .decimal(digits: digits, exponent: exponent)
        case Tag.packed:
            let kind = try source.packedKind()
            let count = try source.packedCount(kind)
            return .scalars(.init(kind: kind, bytes: try bytes(count * kind.width, &source)))
        default: return try references(tag, &source)
        }
    }

    private func url(_ source: inout ByteSource) throws -> ArchivedValue {
        let text = try source.stringValue(limits)
        guard source.remaining > 0 else { throw ByteSource.truncated() }
        var next = source
        if try next.byte() == Tag.none {
            source = next
            return .url(text, base: nil)
        }
        return .url(text, base: try source.stringValue(limits))
    }

    private func references(_ tag: UInt8, _ source: inout ByteSource) throws -> ArchivedValue {
        switch tag {
        case Tag.reference: return try reference(try source.varint())
        case Tag.conditional:
            let number = try source.fixed(UInt32.self)
            return number == .max ? .null : try reference(UInt64(number))
        case Tag.references:
            let count = try source.elementCount(limits)
            var values: [ArchivedValue] = []
            values.reserveCapacity(count)
            var expected: Int64 = 0
            for _ in 0..<count {
                let number = expected &+ (try source.zigzag())
                values.append(try reference(UInt64(bitPattern: number)))
                expected = number &+ 1
            }
            return .list(values)
        case Tag.external:
            throw ArchiveError(.unsupported, "objects by reference can only be sent over a connection")
        default: throw ArchiveError(.corrupt, "an unknown tag")
        }
    }

    private func bytes(_ count: Int, _ source: inout ByteSource) throws -> Data {
        let start = source.position
        try source.advance(count)
        let bytes = UnsafeRawBufferPointer(start: source.base + start, count: count)
        return if let lender { Data(lending: bytes, owner: lender) } else { Data(bytes) }
    }
}
