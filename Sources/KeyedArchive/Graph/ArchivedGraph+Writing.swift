#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension ArchivedGraph {
    /// The graph as a whole archive in the compact format; reading it gives an equal graph.
    ///
    /// - Throws: `ArchiveError` if values are nested deeper than the limits allow, or refer to no object.
    public func compactBytes(limits: Limits = Limits()) throws -> [UInt8] {
        var writer = GraphWriter(limits: limits, objectCount: objects.count)
        defer { writer.deallocate() }
        try writer.value(.record(roots))
        let valuesEnd = writer.out.count
        for (index, object) in objects.enumerated() {
            let start = writer.out.count
            do { try writer.record(object) } catch { throw ArchiveError.wrapping(error, at: .index(index)) }
            writer.lengths.varint(UInt64(writer.out.count - start))
        }
        var front = ByteSink()
        defer { front.deallocate() }
        for byte in CompactFile.magic { front.byte(byte) }
        front.varint(UInt64(writer.shapes.count))
        for shape in writer.shapes { shape.definition.withUnsafeBytes { front.append($0) } }
        front.varint(UInt64(objects.count))
        front.varint(UInt64(valuesEnd))
        return Array(front.bytes) + Array(writer.lengths.bytes) + Array(writer.out.bytes)
    }
}

private struct GraphWriter {
    var out = ByteSink()
    var lengths = ByteSink()
    private(set) var shapes: [Shape] = []
    private var numbers: [Shape: UInt16] = [:]
    private var depth = 0
    private let limits: Limits
    private let objectCount: Int

    init(limits: Limits, objectCount: Int) {
        self.limits = limits
        self.objectCount = objectCount
    }

    func deallocate() {
        out.deallocate()
        lengths.deallocate()
    }

    private mutating func number(of shape: Shape) throws -> UInt16 {
        if let known = numbers[shape] { return known }
        guard shapes.count < min(limits.shapes, 0xFFFF) else {
            throw ArchiveError(.limit, "more than \(limits.shapes) shapes")
        }
        guard Set(shape.keyNames).count == shape.keyCount else {
            throw ArchiveError(.duplicateKey, "a key stands twice in \(shape.name)")
        }
        let number = UInt16(shapes.count)
        shapes.append(shape)
        numbers[shape] = number
        return number
    }

    /// Writes what follows a record's tag, or the body of an object.
    mutating func record(_ record: ArchivedRecord) throws {
        out.fixed(try number(of: record.shape))
        guard let keys = record.ownKeys else {
            for value in record.values { try self.value(value) }
            return
        }
        out.varint(UInt64(keys.count))
        for (key, value) in zip(keys, record.values) {
            out.string(key)
            try self.value(value)
        }
    }

    mutating func value(_ value: ArchivedValue) throws {
        guard depth < limits.depth + 32 else {
            throw ArchiveError(.limit, "values nested deeper than \(limits.depth)")
        }
        depth += 1
        defer { depth -= 1 }
        switch value {
        case .null: out.byte(Tag.none)
        case .bool(let value): out.boolean(value)
        case .integer(let value): out.integer(value)
        case .unsigned(let value): tagged(Tag.unsigned) { $0.varint(value) }
        case .wide(let value): tagged(Tag.int128) { $0.fixed(value) }
        case .unsignedWide(let value): tagged(Tag.uint128) { $0.fixed(value) }
        case .float(let bits): tagged(Tag.float) { $0.fixed(bits) }
        case .double(let bits): tagged(Tag.double) { $0.fixed(bits) }
        case .date(let bits): tagged(Tag.date) { $0.fixed(bits) }
        case .string(let value): out.string(value)
        case .data(let data):
            out.byte(Tag.bytes)
            out.varint(UInt64(data.count))
            data.withUnsafeBytes { out.append($0) }
        case .uuid(let value):
            out.byte(Tag.uuid)
            withUnsafeBytes(of: value.uuid) { out.append($0) }
        case .url(let text, let base):
            out.byte(Tag.url)
            out.string(text)
            if let base { out.string(base) } else { out.byte(Tag.none) }
        case .decimal(let digits, let exponent):
            out.byte(Tag.decimal)
            out.zigzag(exponent)
            out.string(digits)
        default: try compound(value)
        }
    }

    private mutating func tagged(_ tag: UInt8, _ body: (inout ByteSink) -> Void) {
        out.byte(tag)
        body(&out)
    }

    private mutating func compound(_ value: ArchivedValue) throws {
        switch value {
        case .present(let value):
            out.byte(Tag.some)
            try self.value(value)
        case .list(let values): try list(values, Tag.list)
        case .set(let values): try list(values, Tag.set)
        case .map(let pairs):
            out.byte(Tag.map)
            out.varint(UInt64(pairs.count))
            for pair in pairs {
                try self.value(pair.key)
                try self.value(pair.value)
            }
        case .scalars(let scalars):
            out.byte(Tag.packed)
            out.byte(scalars.kind.rawValue)
            out.varint(UInt64(scalars.count))
            scalars.bytes.withUnsafeBytes { out.append($0) }
        case .record(let record):
            out.byte(Tag.record)
            try self.record(record)
        case .reference(let number):
            guard number >= 0 && number < objectCount else {
                throw ArchiveError(.misuse, "a reference to an object that is not in the graph")
            }
            out.byte(Tag.reference)
            out.varint(UInt64(number))
        default: break
        }
    }

    private mutating func list(_ values: [ArchivedValue], _ tag: UInt8) throws {
        out.byte(tag)
        out.varint(UInt64(values.count))
        for value in values { try self.value(value) }
    }
}
