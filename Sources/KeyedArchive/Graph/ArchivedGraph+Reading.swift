#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension ArchivedGraph {
    /// Reads a whole archive in the compact format.
    ///
    /// - Throws: `ArchiveError` if the bytes are not such an archive, or exceed the limits.
    public init(_ bytes: [UInt8], limits: Limits = Limits()) throws {
        self = try bytes.withUnsafeBytes { bytes in
            let (shapes, body) = try CompactFile.parse(bytes, limits: limits)
            let decoder = try ObjectDecoder(bytes: body, owner: nil, shapes: shapes, limits: limits)
            var reader = GraphReader(decoder: decoder, shapes: shapes, limits: limits)
            return try reader.graph()
        }
    }
}

/// Reads values as they stand.
///
/// Only values inside of one object are nested calls, and their depth has a limit.
private struct GraphReader {
    let decoder: ObjectDecoder
    let shapes: [Shape]
    let limits: Limits
    var depth = 0

    mutating func graph() throws -> ArchivedGraph {
        var source = decoder.state.pointee.frame.source
        guard case .record(let roots) = try value(&source) else {
            throw ArchiveError(.corrupt, "the archive has no keys")
        }
        var objects: [ArchivedRecord] = []
        objects.reserveCapacity(decoder.state.pointee.objectCount)
        for number in 0..<decoder.state.pointee.objectCount {
            var body = decoder.body(number)
            let shape = try decoder.readShape(&body).shape.takeUnretainedValue()
            guard shape.kind == .object else { throw ArchiveError(.corrupt, "an object with the shape of a value") }
            do {
                objects.append(try record(shape, &body))
            } catch {
                throw ArchiveError.wrapping(error, at: .index(number))
            }
        }
        return ArchivedGraph(objects: objects, roots: roots)
    }

    private mutating func record(_ shape: Shape, _ source: inout ByteSource) throws -> ArchivedRecord {
        switch shape.layout {
        case .single: return ArchivedRecord(shape: shape, values: [try value(&source)])
        case .keyed:
            guard shape.keyCount <= source.remaining else { throw ByteSource.truncated() }
            return ArchivedRecord(shape: shape, values: try values(shape.keyCount, &source))
        case .explicit:
            let count = try source.count(eachAtLeast: 2, limit: limits.collection, "keys")
            var keys: [String] = []
            var values: [ArchivedValue] = []
            for _ in 0..<count {
                keys.append(try source.stringValue(limits))
                values.append(try value(&source))
            }
            guard Set(keys).count == count else { throw ArchiveError(.corrupt, "a key stands twice in a value") }
            return ArchivedRecord(shape: shape, ownKeys: keys, values: values)
        }
    }

    private mutating func values(_ count: Int, _ source: inout ByteSource) throws -> [ArchivedValue] {
        var values: [ArchivedValue] = []
        values.reserveCapacity(min(count, 1024))
        for _ in 0..<count { values.append(try value(&source)) }
        return values
    }

    private func reference(_ number: UInt64) throws -> ArchivedValue {
        guard number < UInt64(decoder.state.pointee.objectCount) else { throw decoder.noSuchObject() }
        return .reference(Int(number))
    }

    private mutating func value(_ source: inout ByteSource) throws -> ArchivedValue {
        guard depth < limits.depth + 32 else {
            throw ArchiveError(.limit, "values nested deeper than \(limits.depth)")
        }
        depth += 1
        defer { depth -= 1 }
        let start = source.position
        let tag = try source.byte()
        switch tag {
        case 0...0x7F: return .integer(Int64(tag))
        case Tag.firstString...Tag.lastString, Tag.string:
            source.position = start
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
        default: return try compound(tag, &source)
        }
    }

    private mutating func compound(_ tag: UInt8, _ source: inout ByteSource) throws -> ArchivedValue {
        switch tag {
        case Tag.some: return .present(try value(&source))
        case Tag.url:
            guard case .string(let text) = try value(&source) else { throw ArchiveError(.corrupt, "a broken URL") }
            switch try value(&source) {
            case .null: return .url(text, base: nil)
            case .string(let base): return .url(text, base: base)
            default: throw ArchiveError(.corrupt, "a broken URL")
            }
        case Tag.decimal:
            let exponent = try source.zigzag()
            return .decimal(digits: try source.stringValue(limits), exponent: exponent)
        case Tag.list, Tag.set:
            let count = try source.count(eachAtLeast: 1, limit: limits.collection, "elements")
            let values = try values(count, &source)
            return tag == Tag.list ? .list(values) : .set(values)
        case Tag.map:
            let count = try source.count(eachAtLeast: 2, limit: limits.collection, "elements")
            var pairs: [ArchivedValue.Pair] = []
            for _ in 0..<count { pairs.append(.init(try value(&source), try value(&source))) }
            return .map(pairs)
        case Tag.packed:
            let kind = try source.packedKind()
            let count = try source.packedCount(kind)
            return .scalars(.init(kind: kind, bytes: try bytes(count * kind.width, &source)))
        case Tag.record:
            let shape = try decoder.readShape(&source).shape.takeUnretainedValue()
            guard shape.kind == .record else { throw ArchiveError(.corrupt, "a value with the shape of an object") }
            return .record(try record(shape, &source))
        default: return try references(tag, &source)
        }
    }

    private func references(_ tag: UInt8, _ source: inout ByteSource) throws -> ArchivedValue {
        switch tag {
        case Tag.reference: return try reference(try source.varint())
        case Tag.conditional:
            let number = try source.fixed(UInt32.self)
            return number == .max ? .null : try reference(UInt64(number))
        case Tag.references:
            let count = try source.count(eachAtLeast: 1, limit: limits.collection, "elements")
            var values: [ArchivedValue] = []
            values.reserveCapacity(min(count, 1024))
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
        return Data(UnsafeRawBufferPointer(start: source.base + start, count: count))
    }
}
