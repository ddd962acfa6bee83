/// Checks a NIBArchive and finds the places of its parts.
///
///     NIBArchive              10 bytes
///     format, coder           two numbers of four bytes
///     objects, keys, values, class names
///                             for each table its count and its place, four bytes each
///
/// The tables follow in that order.
struct NIBArchiveReader {
    static let magic = Array("NIBArchive".utf8)
    private static let format: UInt32 = 1
    /// The versions of the coder whose files are known to look like this, and those before them.
    private static let coders: ClosedRange<UInt32> = 1...10

    private struct Table {
        let name: String
        let count: Int
        let offset: Int
    }

    private let index: NIBArchiveIndex
    private let limits: ArchiveLimits
    private var source: NIBArchiveSource
    private(set) var coder = 0
    private var tables: [Table] = []
    /// The values that objects may still have.
    ///
    /// Archivers write each value for one object. Many objects that share many values would be far more than the file.
    private var allowance = 0
    private static let mostShared = 1 << 16

    init(_ index: NIBArchiveIndex, limits: ArchiveLimits) {
        self.index = index
        self.limits = limits
        source = index.source(at: 0)
    }

    mutating func read() throws {
        do {
            try header()
            let sizes = (keys: tables[1].count, values: tables[2].count, classes: tables[3].count)
            allowance = sizes.values + Self.mostShared
            try table(0) { try $0.object(values: sizes.values, classes: sizes.classes) }
            try table(1) { reader in _ = try reader.source.bytes(limit: reader.limits.string) }
            try table(2) { try $0.value(keys: sizes.keys) }
            try table(3) { try $0.type(classes: sizes.classes) }
        } catch let error as ArchiveError {
            throw ArchiveError(error.code, "\(error.message), at byte \(source.position)")
        }
    }

    // MARK: Header

    private mutating func header() throws {
        for byte in Self.magic {
            guard try source.byte() == byte else { throw ArchiveError(.corrupt, "expected the letters “NIBArchive”") }
        }
        let format = try source.fixed(UInt32.self)
        guard format == Self.format else {
            throw ArchiveError(
                .unsupported, "expected version \(Self.format) of the NIBArchive format, found \(format)")
        }
        let coder = try source.fixed(UInt32.self)
        guard Self.coders.contains(coder) else {
            throw ArchiveError(
                .unsupported, "expected a version of the coder of at most \(Self.coders.upperBound), found \(coder)")
        }
        self.coder = Int(coder)
        for name in ["object", "key", "value", "class"] {
            let count = Int(try source.fixed(UInt32.self))
            tables.append(Table(name: name, count: count, offset: Int(try source.fixed(UInt32.self))))
        }
        guard tables[0].count <= limits.objects else {
            throw ArchiveError(.limit, "more than \(limits.objects) objects")
        }
    }

    /// Reads a table, part by part.
    private mutating func table(_ number: Int, _ part: (inout NIBArchiveReader) throws -> Void) throws {
        let table = tables[number]
        guard table.offset >= source.position, table.offset <= index.bytes.bytes.count else {
            throw ArchiveError(
                .corrupt,
                "expected the \(table.name) table from here to \(index.bytes.bytes.count), found its place \(table.offset)"
            )
        }
        source.seek(to: table.offset)
        let places = [index.objects, index.keys, index.values, index.classes][number]
        for position in 0..<table.count {
            places.append(UInt32(source.position))
            do { try part(&self) } catch let error as ArchiveError {
                throw ArchiveError(error.code, "\(table.name) \(position) of \(table.count): \(error.message)")
            }
        }
    }

    // MARK: Parts

    private mutating func object(values: Int, classes: Int) throws {
        try expect(below: classes, "class")
        let start = source.position
        let first = try source.varint()
        let count = try source.varint()
        guard first + count <= values else {
            source.seek(to: start)
            throw ArchiveError(.corrupt, "expected values within \(values), found \(count) from \(first) on")
        }
        allowance -= count
        guard allowance >= 0 else {
            throw ArchiveError(.limit, "objects share more than \(Self.mostShared) values")
        }
    }

    private mutating func value(keys: Int) throws {
        try expect(below: keys, "key")
        let start = source.position
        let kind = try source.byte()
        guard let kind = NIBArchiveValue.Kind(rawValue: kind) else {
            source.seek(to: start)
            throw ArchiveError(.corrupt, "expected a type of value from 0 to 10, found \(kind)")
        }
        switch kind {
        case .int8: _ = try source.byte()
        case .int16: _ = try source.fixed(UInt16.self)
        case .int32, .float: _ = try source.fixed(UInt32.self)
        case .int64, .double: _ = try source.fixed(UInt64.self)
        case .false, .true, .null: break
        case .data: _ = try source.bytes(limit: Int.max)
        case .reference:
            let object = try source.fixed(UInt32.self)
            guard object < tables[0].count else {
                source.seek(to: start + 1)
                throw ArchiveError(.corrupt, "expected an object below \(tables[0].count), found \(object)")
            }
        }
    }

    private mutating func type(classes: Int) throws {
        let start = source.position
        let length = try source.varint()
        for _ in 0..<(try source.varint()) {
            let fallback = try source.fixed(Int32.self)
            guard fallback >= 0 && fallback < classes else {
                source.seek(to: source.position - 4)
                throw ArchiveError(.corrupt, "expected a fallback class below \(classes), found \(fallback)")
            }
        }
        let name = source.position
        guard length > 0, length <= limits.string, length <= index.bytes.bytes.count - name else {
            source.seek(to: start)
            throw ArchiveError(.truncated, "expected the length of a name and a zero, found \(length)")
        }
        guard index.bytes.bytes[name + length - 1] == 0 else {
            throw ArchiveError(.corrupt, "expected a name with a zero at its end")
        }
        source.seek(to: name + length)
    }

    private mutating func expect(below count: Int, _ what: StaticString) throws {
        let start = source.position
        let number = try source.varint()
        guard number < count else {
            source.seek(to: start)
            throw ArchiveError(.corrupt, "expected a \(what) below \(count), found \(number)")
        }
    }
}
