#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension ArchivedGraph {
    /// The graph as a whole archive; reading it gives an equal graph.
    ///
    /// Two things may differ. In Apple's formats, a graph in the compact layout is converted: values become objects of
    /// Foundation classes. In the compact format, the lists and maps of `sharedValues` become objects.
    /// - Parameters:
    ///   - format: The format to write.
    ///   - limits: Bounds beyond which writing throws.
    /// - Throws: `ArchiveError` if values are nested deeper than the limits allow or refer to no object, if shared
    ///   values would take too much room where they cannot be shared, if the other layout cannot express something, or for
    ///   a format without keys.
    /// - Complexity: Linear in the size of the archive.
    public func bytes(format: ArchiveFormat, limits: ArchiveLimits = ArchiveLimits()) throws -> [UInt8] {
        try format.expectCurrent()
        return switch format {
        case .compact: try compactBytes(limits: limits)
        case .xml: try XMLPlistWriter.array(binaryPieces(limits: limits).inOnePiece(), limits: limits)
        default: try binaryPieces(limits: limits).array()
        }
    }

    /// Passes the graph as a whole archive to `receiver`, piece by piece and in order, without holding it in memory.
    ///
    /// The pieces together are what `bytes(format:limits:)` returns. Large `Data` values are not copied.
    /// - Parameters:
    ///   - format: The format to write.
    ///   - limits: Bounds beyond which writing throws.
    ///   - receiver: Receives the next bytes, which are valid during the call. An error it throws ends the writing.
    /// - Throws: What `receiver` throws, and `ArchiveError` as `bytes(format:limits:)` does; in XML, `receiver` may
    ///   have received some pieces by then.
    /// - Complexity: Linear in the size of the archive.
    public func write(
        format: ArchiveFormat, limits: ArchiveLimits = ArchiveLimits(),
        to receiver: (UnsafeRawBufferPointer) throws -> Void
    ) throws {
        try format.expectCurrent()
        switch format {
        case .compact: try compactPieces(limits: limits).write(to: receiver)
        case .xml:
            try XMLPlistWriter.write(binaryPieces(limits: limits).inOnePiece(), limits: limits, to: receiver)
        default: try binaryPieces(limits: limits).write(to: receiver)
        }
    }

    /// The graph as a binary property list.
    func binaryPieces(limits: ArchiveLimits) throws -> ArchivePieces {
        guard archiver == nil else { return try KeyedGraphWriter.write(self, limits: limits) }
        let writer = try compactWriter(limits)
        defer { writer.deallocate() }
        return try AppleWriter.write(
            body: writer.out.bytes, blobs: writer.blobs, shapes: writer.shapes, objectCount: objects.count,
            limits: limits)
    }

    /// The graph as a whole archive in the compact format; reading it gives an equal graph.
    ///
    /// - Throws: `ArchiveError` if values are nested deeper than the limits allow, or refer to no object.
    func compactBytes(limits: ArchiveLimits = ArchiveLimits()) throws -> [UInt8] {
        try compactPieces(limits: limits).array()
    }

    private func compactPieces(limits: ArchiveLimits) throws -> ArchivePieces {
        let writer = try compactWriter(limits)
        var front = CompactFile.front(writer.shapes)
        front.varint(UInt64(writer.objectCount))
        front.varint(UInt64(writer.valuesEnd))
        var pieces = ArchivePieces()
        pieces.append(front)
        pieces.append(writer.lengths)
        pieces.append(writer.out, writer.blobs)
        return pieces
    }

    /// Writes the values at the top and all objects.
    private func compactWriter(_ limits: ArchiveLimits) throws -> GraphWriter {
        // Shared lists and maps come after the objects.
        let shared = archiver == nil ? 0 : sharedValues.count
        let total = objects.count + shared
        guard total <= limits.objects else { throw ArchiveError(.limit, "more than \(limits.objects) objects") }
        var writer = GraphWriter(limits: limits, objectCount: total, mostBytes: mostCompactBytes(limits))
        do {
            try writer.top(archiver == nil ? lentRoots : KeyedCompact.top(of: self, count: objects.count))
            for index in 0..<total {
                do { try writer.object(try compactRecord(index)) } catch {
                    throw ArchiveError.wrapping(error, at: .index(index))
                }
            }
            return writer
        } catch {
            writer.deallocate()
            throw error
        }
    }

    /// The most bytes the archive may take.
    ///
    /// Strings and data that a property list shares are written once for each use. The bound keeps a small archive from
    /// expanding into a large one.
    private func mostCompactBytes(_ limits: ArchiveLimits) -> Int {
        guard let table = objects.layout?.table else { return .max }
        return min(limits.bytes, (16 << 20) + 64 * table.file.count)
    }

    /// The record of an object, or of one of the shared values that come after the objects.
    private func compactRecord(_ index: Int) throws -> ArchivedRecord {
        guard archiver != nil else {
            guard let record = objects.lent(index).record else {
                throw ArchiveError(.misuse, "an object without class")
            }
            return record
        }
        let count = objects.count
        return index < count
            ? try KeyedCompact.record(of: objects.lent(index), in: self, count: count)
            : KeyedCompact.record(ofShared: sharedValues.lent(index - count), count: count)
    }
}

/// Writes values in the compact format.
private struct GraphWriter {
    /// The values at the top, then the bodies of the objects.
    private(set) var out = ByteSink()
    /// Large data, which stays in place; each blob knows its position in `out`.
    private(set) var blobs: [Blob] = []
    private var blobBytes = 0
    /// The lengths of the bodies.
    private(set) var lengths = ByteSink()
    /// Bytes of the values at the top.
    private(set) var valuesEnd = 0
    private(set) var shapes: [Shape] = []
    private var numbers: [ShapeKey: UInt16] = [:]
    private var last: (key: ShapeKey, number: UInt16)?
    private var nesting: Nesting
    private let limits: ArchiveLimits
    let objectCount: Int
    private let mostBytes: Int

    init(limits: ArchiveLimits, objectCount: Int, mostBytes: Int) {
        self.limits = limits
        self.objectCount = objectCount
        self.mostBytes = mostBytes
        nesting = GraphReader.nesting(limits, bytes: nil)
    }

    func deallocate() {
        out.deallocate()
        lengths.deallocate()
    }

    /// Bytes written so far.
    private var count: Int { out.count + blobBytes }

    /// Writes the values at the top.
    mutating func top(_ record: ArchivedRecord) throws {
        try value(.record(record))
        valuesEnd = count
    }

    /// Writes the next object.
    mutating func object(_ record: ArchivedRecord) throws {
        let start = count
        try self.record(record, .object)
        lengths.varint(UInt64(count - start))
    }

    /// What records of one shape have in common.
    private struct ShapeKey: Hashable {
        let kind: Shape.Kind
        let layout: Shape.Layout
        let name: String
        let version: Int
        let keys: [String]
    }

    private mutating func number(of key: ShapeKey) throws -> UInt16 {
        // Most records have the same shape as the one before.
        if let last, last.key == key { return last.number }
        let number = try numbers[key] ?? add(key)
        last = (key, number)
        return number
    }

    private mutating func add(_ key: ShapeKey) throws -> UInt16 {
        guard shapes.count < min(limits.shapes, 0xFFFF) else {
            throw ArchiveError(.limit, "more than \(limits.shapes) shapes")
        }
        guard Set(key.keys).count == key.keys.count else {
            throw ArchiveError(.duplicateKey, "a key occurs twice in \(key.name)")
        }
        let number = UInt16(shapes.count)
        shapes.append(
            Shape(name: key.name, version: key.version, kind: key.kind, layout: key.layout, keys: key.keys))
        numbers[key] = number
        return number
    }

    /// The layout of a record, with inline keys only if there are too many keys or shapes.
    private func layout(_ record: ArchivedRecord, _ kind: Shape.Kind) throws -> Shape.Layout {
        if record.storedKeys.count == record.values.count {
            return record.storedKeys.count > limits.keys || shapes.count > limits.shapes / 2 ? .explicit : .keyed
        }
        guard kind == .object, record.storedKeys.isEmpty, record.values.count == 1 else {
            throw ArchiveError(.misuse, "a record with different counts of keys and values")
        }
        return .single
    }

    /// Writes what follows a record's tag, or the body of an object.
    private mutating func record(_ record: ArchivedRecord, _ kind: Shape.Kind) throws {
        let layout = try layout(record, kind)
        let keys = layout == .keyed ? record.storedKeys : []
        out.fixed(
            try number(
                of: ShapeKey(
                    kind: kind, layout: layout, name: record.typeName, version: record.version, keys: keys)))
        guard layout == .explicit else {
            for value in record.values { try self.value(value) }
            return
        }
        guard Set(record.storedKeys).count == record.storedKeys.count else {
            throw ArchiveError(.duplicateKey, "a key occurs twice in \(record.typeName)")
        }
        out.varint(UInt64(record.storedKeys.count))
        for (key, value) in zip(record.storedKeys, record.values) {
            out.string(key)
            try self.value(value)
        }
    }

    private mutating func value(_ value: ArchivedValue) throws {
        guard count <= mostBytes else {
            throw ArchiveError(.limit, "values shared so often that they would exceed the limit")
        }
        switch value {
        case .present, .list, .set, .map, .record: try container(value)
        default: try leaf(value)
        }
    }

    // One function for each kind of value keeps the stack frames of nested values small.

    private mutating func container(_ value: ArchivedValue) throws {
        let isSegmentFull = try nesting.enter()
        defer { nesting.leave() }
        if isSegmentFull { return try StackSegment.run { try content(value) } }
        try content(value)
    }

    private mutating func content(_ value: ArchivedValue) throws {
        switch value {
        case .present(let value):
            out.byte(Tag.some)
            try self.value(value)
        case .list(let values): try list(values, Tag.list)
        case .set(let values): try list(values, Tag.set)
        case .map(let pairs): try map(pairs)
        case .record(let record):
            out.byte(Tag.record)
            try self.record(record, .record)
        default: break
        }
    }

    private mutating func list(_ values: [ArchivedValue], _ tag: UInt8) throws {
        out.counted(tag, values.count)
        for value in values { try self.value(value) }
    }

    private mutating func map(_ pairs: [ArchivedValue.Pair]) throws {
        out.counted(Tag.map, pairs.count)
        for pair in pairs {
            try value(pair.key)
            try value(pair.value)
        }
    }

    private mutating func leaf(_ value: ArchivedValue) throws {
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
            out.counted(Tag.bytes, data.count)
            bytes(data)
        case .uuid(let value):
            out.byte(Tag.uuid)
            withUnsafeBytes(of: value.uuid) { out.append($0) }
        case .url(let text, let base):
            out.byte(Tag.url)
            out.string(text)
            if let base { out.string(base) } else { out.byte(Tag.none) }
        case .decimal(let digits, let exponent):
            guard DecimalText.isValid(digits, exponent: exponent) else {
                throw ArchiveError(.misuse, "an invalid decimal")
            }
            out.decimal(digits, exponent: exponent)
        case .scalars(let scalars):
            out.packed(scalars.kind, scalars.count)
            scalars.bytes.withUnsafeBytes { out.append($0) }
        case .reference(let number):
            guard number >= 0 && number < objectCount else {
                throw ArchiveError(.misuse, "a reference to an object that is not in the graph")
            }
            out.reference(UInt64(number))
        case .brokenString, .shared:
            throw ArchiveError(.misuse, "a value that only property lists can hold")
        case .present, .list, .set, .map, .record: break
        }
    }

    /// Writes bytes; large ones become a blob.
    private mutating func bytes(_ data: Data) {
        guard data.count >= Blob.smallest else { return data.withUnsafeBytes { out.append($0) } }
        let owner = DataOwner(data)
        blobs.append(Blob(position: out.count, owner: owner, bytes: owner.data.withUnsafeBytes { $0 }))
        blobBytes += data.count
    }

    private mutating func tagged(_ tag: UInt8, _ body: (inout ByteSink) -> Void) {
        out.byte(tag)
        body(&out)
    }
}
