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
            let isSegmentFull = try enter()
            defer { leave() }
            if isSegmentFull { return try StackSegment.run { try container(type, index) } }
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
            let field = try field(entry, StoredForm.string)
            if table.node(plain(field)).isString, !isNil(field) {
                // In place, the text `$null` is that text.
                try value(plain(field), isText: true)
            } else {
                guard let text = try text(field) else { throw missing(StoredForm.string) }
                try spend()
                out.string(text)
            }
        case .data:
            let bytes = plain(try field(entry, StoredForm.data))
            guard table.node(bytes).kind == .data else { throw missing(StoredForm.data) }
            try value(bytes)
        case .number:
            let number = plain(try field(entry, StoredForm.number))
            switch table.node(number).kind {
            case .integer, .real, .isFalse, .isTrue: try value(number)
            default: throw missing(StoredForm.number)
            }
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

    /// The first of some fields that is there.
    private func find(_ entry: PlistNode, _ keys: [StaticString]) -> Int? {
        for key in keys { if let value = find(entry, key) { return value } }
        return nil
    }

    private func field(_ entry: PlistNode, _ keys: StaticString...) throws -> Int { try field(entry, keys) }

    private func field(_ entry: PlistNode, _ keys: [StaticString]) throws -> Int {
        guard let value = find(entry, keys) else { throw missing(keys) }
        return value
    }

    private func missing(_ keys: [StaticString]) -> ArchiveError {
        ArchiveError(.corrupt, "a Foundation object without \(keys[0])")
    }

    /// Whether a field refers to nil.
    private func isNil(_ number: Int) -> Bool {
        table.node(number).kind == .uid && table.isString(plain(number), "$null")
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
        let time = content(try field(entry, StoredForm.date))
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
        let bytes = self.bytes(try field(entry, StoredForm.uuid))
        guard bytes.kind == .data, bytes.count == 16 else {
            throw ArchiveError(.corrupt, "a UUID that is not 16 bytes long")
        }
        try spend()
        out.byte(Tag.uuid)
        out.append(table.bytes(bytes))
    }

    /// The content of a field that is an object with fields; nil if it is not.
    private func entry(_ node: PlistNode) -> PlistNode? {
        guard node.kind == .uid, let index = table.uid(node), layout.kind(Int(index)) == .instance else { return nil }
        return table.node(layout.node(Int(index)))
    }

    /// The bytes of a field: themselves, or those of an object with data.
    private func bytes(_ number: Int) -> PlistNode {
        let node = content(number)
        guard let entry = entry(node), let inner = find(entry, StoredForm.data) else { return node }
        return content(inner)
    }

    /// The text of a field: a string, its UTF-8, an object with either, or nil, which is the empty string there.
    private func text(_ number: Int) throws -> String? {
        var field = number
        if let entry = entry(content(number)) {
            // A mutable string is an object.
            guard let inner = find(entry, StoredForm.string) else { return nil }
            field = inner
            if isNil(field) { return "" }
        }
        let node = content(field)
        switch node.kind {
        case .ascii, .utf8, .utf16: return isNil(field) ? "" : table.string(node)
        case .data:
            guard node.count <= limits.string else {
                throw ArchiveError(.limit, "a string of more than \(limits.string) bytes")
            }
            return String(decoding: table.bytes(node), as: UTF8.self)
        default: return nil
        }
    }

    private mutating func url(_ entry: PlistNode) throws {
        var parts: [String] = []
        var next: PlistNode? = entry
        // The base may have a base itself; real URLs have few.
        while let url = next {
            guard parts.count < 8 else { throw ArchiveError(.cycle, "a URL that is its own base") }
            guard let relative = try text(try field(url, StoredForm.url)) else { throw missing(StoredForm.url) }
            parts.append(relative)
            next = find(url, StoredForm.urlBase).flatMap { self.entry(table.node($0)) }
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
        guard let mantissa = find(entry, StoredForm.decimalMantissa) else { return try decimalText(entry) }
        let bytes = self.bytes(mantissa)
        guard bytes.kind == .data else { throw DecimalText.broken() }
        let exponent = content(try field(entry, "NS.exponent"))
        let length = find(entry, "NS.length").map(content)
        let isNegative = find(entry, "NS.negative").map { content($0).kind == .isTrue } ?? false
        let isBig = find(entry, "NS.mantissa.bo").map { table.integer(content($0)) == 2 } ?? false
        guard exponent.kind == .integer, let power = Int64(exactly: table.integer(exponent)),
            DecimalText.exponents.contains(power)
        else { throw DecimalText.broken() }
        let words = try length.map { length in
            guard length.kind == .integer, let words = Int(exactly: table.integer(length)) else {
                throw DecimalText.broken()
            }
            return words
        }
        let parts = try DecimalParts(
            mantissa: table.bytes(bytes), isBigEndian: isBig, length: words, isNegative: isNegative)
        out.byte(Tag.decimal)
        out.zigzag(power)
        out.string(parts.digits)
    }

    /// Writes a decimal that the archive stores as text, as some archivers do.
    private mutating func decimalText(_ entry: PlistNode) throws {
        guard let field = find(entry, StoredForm.decimalText), let text = try text(field),
            let value = Decimal(string: text)
        else { throw missing(StoredForm.decimalMantissa) }
        out.byte(Tag.decimal)
        out.zigzag(Int64(value.exponent))
        out.string((value.sign == .minus ? "-" : "") + value.significand.description)
    }
}
