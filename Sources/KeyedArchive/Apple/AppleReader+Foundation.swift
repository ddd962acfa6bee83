#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension AppleReader {
    /// Writes an object of a Foundation class as the value that it represents.
    mutating func foundation(_ type: FoundationClass, _ index: Int) throws {
        switch type {
        case .array, .set, .countedSet, .dictionary, .optional:
            guard open.insert(index).inserted else { throw insideItself() }
            defer { open.remove(index) }
            try enter()
            defer { leave() }
            try container(type, index)
        default: try scalar(type, index)
        }
    }

    private func insideItself() -> ArchiveError {
        ArchiveError(.cycle, "a container that contains itself, which no Swift value can")
    }

    @inline(never)
    private mutating func container(_ type: FoundationClass, _ index: Int) throws {
        let entry = table.node(layout.node(index))
        switch type {
        case .dictionary: try dictionary(entry)
        case .optional:
            out.byte(Tag.some)
            try value(try field(entry, "value"))
        default: try list(entry, type)
        }
    }

    @inline(never)
    private mutating func scalar(_ type: FoundationClass, _ index: Int) throws {
        let entry = table.node(layout.node(index))
        switch type {
        case .string:
            let text = plain(try field(entry, "NS.string"))
            guard table.node(text).isString else { throw missing("NS.string") }
            try value(text, isText: true)
        case .data:
            guard let field = find(entry, "NS.data") ?? find(entry, "NS.bytes") else { throw missing("NS.data") }
            let bytes = plain(field)
            guard table.node(bytes).kind == .data else { throw missing("NS.data") }
            try value(bytes)
        case .date: try date(entry)
        case .uuid: try uuid(entry)
        case .url: try url(entry)
        case .decimal: try decimal(entry)
        default:
            try spend()
            out.byte(Tag.none)
        }
    }

    // MARK: Fields

    private func find(_ entry: PlistNode, _ key: StaticString) -> Int? {
        for position in 0..<entry.count where table.isString(table.reference(entry, position), key) {
            return table.value(entry, position)
        }
        return nil
    }

    private func field(_ entry: PlistNode, _ key: StaticString) throws -> Int {
        guard let value = find(entry, key) else { throw missing("\(key)") }
        return value
    }

    private func missing(_ key: String) -> ArchiveError {
        ArchiveError(.corrupt, "a Foundation object without \(key)")
    }

    /// The value of a field: itself, or the plain value it refers to.
    private func plain(_ number: Int) -> Int {
        let node = table.node(number)
        guard node.kind == .uid, let index = table.uid(node), layout.kind(Int(index)) == .value else { return number }
        return layout.node(Int(index))
    }

    private func content(_ number: Int) -> PlistNode { table.node(plain(number)) }

    /// The fields `NS.object.0`, `NS.object.1` and so on, in order.
    private func numbered(_ entry: PlistNode, _ prefix: String) -> [Int] {
        var found: [(Int, Int)] = []
        for position in 0..<entry.count {
            guard let key = table.string(table.node(table.reference(entry, position))), key.hasPrefix(prefix),
                let number = Int(key.dropFirst(prefix.utf8.count))
            else { continue }
            found.append((number, table.value(entry, position)))
        }
        return found.sorted { $0.0 < $1.0 }.map(\.1)
    }

    private func elements(_ entry: PlistNode, _ key: StaticString, _ prefix: String) throws -> [Int] {
        guard let list = find(entry, key) else { return numbered(entry, prefix) }
        let node = content(list)
        guard node.kind == .array else { throw ArchiveError(.corrupt, "a container without elements") }
        return (0..<node.count).map { table.reference(node, $0) }
    }

    // MARK: Containers

    @inline(never)
    private mutating func list(_ entry: PlistNode, _ type: FoundationClass) throws {
        let elements = try elements(entry, "NS.objects", type == .countedSet ? "NS.object" : "NS.object.")
        try spend(elements.count)
        if type == .array, let indexes = objects(elements) { return references(indexes) }
        out.counted(type == .array ? Tag.list : Tag.set, elements.count)
        for (position, element) in elements.enumerated() {
            do { try value(element) } catch { throw ArchiveError.wrapping(error, at: .index(position)) }
        }
    }

    @inline(never)
    private mutating func references(_ indexes: [Int]) {
        out.counted(Tag.references, indexes.count)
        var expected: Int64 = 0
        for index in indexes {
            let number = Int64(self.number(of: index))
            out.zigzag(number - expected)
            expected = number + 1
        }
    }

    /// The step of an error's path for the value under a key; nil if the key is not a string.
    private func step(_ key: Int) -> ArchiveError.Step? {
        let node = content(key)
        return node.isString ? table.string(node).map { .key($0) } : nil
    }

    /// The object indexes of the elements; nil unless every element is an object of one of the user's classes.
    private mutating func objects(_ elements: [Int]) -> [Int]? {
        guard !elements.isEmpty else { return nil }
        var indexes: [Int] = []
        indexes.reserveCapacity(elements.count)
        for element in elements {
            let node = table.node(element)
            guard node.kind == .uid, let index = table.uid(node), layout.kind(Int(index)) == .instance,
                foundationClass(Int(index)) == nil
            else { return nil }
            indexes.append(Int(index))
        }
        return indexes
    }

    @inline(never)
    private mutating func dictionary(_ entry: PlistNode) throws {
        let keys = try elements(entry, "NS.keys", "NS.key.")
        let values = try elements(entry, "NS.objects", "NS.object.")
        guard keys.count == values.count else {
            throw ArchiveError(.corrupt, "a dictionary with different counts of keys and values")
        }
        out.counted(Tag.map, keys.count)
        for index in keys.indices {
            try value(keys[index])
            do { try value(values[index]) } catch { throw ArchiveError.wrapping(error, at: step(keys[index])) }
        }
    }

    // MARK: Scalars

    private mutating func date(_ entry: PlistNode) throws {
        let time = content(try field(entry, "NS.time"))
        let bits: UInt64
        switch time.kind {
        case .real where time.count == 8, .date: bits = table.unsigned(time.start, 8)
        case .real:
            bits = Double(Float(bitPattern: UInt32(truncatingIfNeeded: table.unsigned(time.start, 4)))).bitPattern
        case .integer: bits = Double(table.integer(time)).bitPattern
        default: throw ArchiveError(.corrupt, "a date that is not a number")
        }
        try spend()
        out.byte(Tag.date)
        out.fixed(bits)
    }

    private mutating func uuid(_ entry: PlistNode) throws {
        let bytes = content(try field(entry, "NS.uuidbytes"))
        guard bytes.kind == .data, bytes.count == 16 else {
            throw ArchiveError(.corrupt, "a UUID that is not 16 bytes long")
        }
        try spend()
        out.byte(Tag.uuid)
        out.append(table.bytes(bytes))
    }

    private func text(_ number: Int) throws -> String? {
        var node = content(number)
        if node.kind == .uid, let index = table.uid(node), layout.kind(Int(index)) == .instance {
            // A mutable string is an object.
            let entry = table.node(layout.node(Int(index)))
            guard let inner = find(entry, "NS.string") else { return nil }
            node = content(inner)
        }
        guard node.isString else { return nil }
        return table.string(node)
    }

    private mutating func url(_ entry: PlistNode) throws {
        var parts: [String] = []
        var next: PlistNode? = entry
        // The base may have a base itself; real URLs have few.
        while let url = next {
            guard parts.count < 8 else { throw ArchiveError(.cycle, "a URL that is its own base") }
            guard let relative = try text(try field(url, "NS.relative")) else { throw missing("NS.relative") }
            parts.append(relative)
            next = nil
            if let base = find(url, "NS.base") {
                let node = table.node(base)
                if node.kind == .uid, let index = table.uid(node), layout.kind(Int(index)) == .instance {
                    next = table.node(layout.node(Int(index)))
                }
            }
        }
        try spend()
        out.byte(Tag.url)
        out.string(parts.removeFirst())
        guard var base = parts.popLast() else { return out.byte(Tag.none) }
        while let part = parts.popLast() {
            base = URL(string: part, relativeTo: URL(string: base))?.absoluteString ?? part
        }
        out.string(base)
    }

    private mutating func decimal(_ entry: PlistNode) throws {
        try spend()
        guard let mantissa = find(entry, "NS.mantissa") else { return try decimalText(entry) }
        let bytes = content(mantissa)
        guard bytes.kind == .data, bytes.count <= 16 else { throw ArchiveError(.corrupt, "an invalid decimal") }
        let exponent = content(try field(entry, "NS.exponent"))
        let length = find(entry, "NS.length").map(content)
        let isNegative = find(entry, "NS.negative").map { content($0).kind == .isTrue } ?? false
        let isBig = find(entry, "NS.mantissa.bo").map { table.integer(content($0)) == 2 } ?? false
        guard exponent.kind == .integer, let power = Int64(exactly: table.integer(exponent)),
            DecimalText.exponents.contains(power)
        else {
            throw ArchiveError(.corrupt, "an invalid decimal")
        }
        out.byte(Tag.decimal)
        out.zigzag(power)
        if let length, length.kind == .integer, table.integer(length) == 0, isNegative { return out.string("NaN") }
        var magnitude: UInt128 = 0
        let all = table.bytes(bytes)
        for word in stride(from: all.count / 2 - 1, through: 0, by: -1) {
            let value = all.loadUnaligned(fromByteOffset: 2 * word, as: UInt16.self)
            magnitude = magnitude << 16 | UInt128(isBig ? UInt16(bigEndian: value) : UInt16(littleEndian: value))
        }
        out.string((isNegative ? "-" : "") + magnitude.description)
    }

    /// Writes a decimal that the archive stores as text, as some archivers do.
    private mutating func decimalText(_ entry: PlistNode) throws {
        guard let field = find(entry, "$0"), let text = try text(field), let value = Decimal(string: text) else {
            throw missing("NS.mantissa")
        }
        out.byte(Tag.decimal)
        out.zigzag(Int64(value.exponent))
        out.string((value.sign == .minus ? "-" : "") + value.significand.description)
    }
}
