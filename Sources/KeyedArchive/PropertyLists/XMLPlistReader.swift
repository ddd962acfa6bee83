#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Converts an XML property list to binary form, in one pass and without recursion.
///
/// Skips XML that property lists do not need: comments, processing instructions, the document type. Supports the five
/// entities of XML and numeric ones; fetches nothing and expands no declared entity. `{"CF$UID": n}` is a UID.
///
/// Attributes of this library preserve what the text cannot express; other readers ignore them:
/// `<real width="4">` is a real of four bytes, `bits="..."` are the bits of a real or a date in hexadecimal, and
/// `replaced="..."` are characters of a string (`XMLReplacements`).
struct XMLPlistReader {
    enum Kind {
        case plist, dictionary, array, key, string, integer, real, date, data, isTrue, isFalse
    }

    private struct Open {
        let element: Kind
        /// Where the container's content begins in `pending`.
        let start: Int
        /// Whether a dictionary that looks like a UID is a plain dictionary.
        let isPlain: Bool
    }

    var source: XMLScanner
    var builder: PlistBuilder
    let limits: ArchiveLimits
    private var open: [Open] = []
    /// Content of open containers; keys and values of dictionaries alternate.
    private var pending: [UInt32] = []
    private var uidKey: UInt32?
    private var top: UInt32?
    /// The last integer read, and its node.
    private var lastInteger: (number: UInt32, value: Int128)?

    /// The property list in binary form.
    static func binary(_ bytes: UnsafeRawBufferPointer, limits: ArchiveLimits) throws -> ArchiveBytes {
        let utf16 = try UTF16Text.utf8(bytes)
        defer { utf16?.deallocate() }
        var reader = XMLPlistReader(utf16?.bytes ?? bytes, limits)
        defer { reader.builder.deallocate() }
        return try reader.read().inOnePiece()
    }

    private init(_ bytes: UnsafeRawBufferPointer, _ limits: ArchiveLimits) {
        source = XMLScanner(bytes)
        builder = PlistBuilder(limits: limits)
        self.limits = limits
    }

    private mutating func read() throws -> ArchivePieces {
        while let tag = try source.nextTag() {
            if tag.isEnd { try end(tag) } else { try begin(tag) }
        }
        guard open.isEmpty else { throw source.truncated() }
        guard let top else { throw source.corrupt("no value") }
        return try builder.finish(top: top)
    }

    @inline(__always)
    private func element(_ tag: XMLScanner.Tag) throws -> Kind {
        let name = source.bytes(tag.name)
        // Distinguished by length and first byte, then compared as a whole.
        switch (name.count, name[0]) {
        case (3, UInt8(ascii: "k")): return try element(name, "key", .key)
        case (4, UInt8(ascii: "d")):
            return name[3] == UInt8(ascii: "t") ? try element(name, "dict", .dictionary) : try dateOrData(name)
        case (4, UInt8(ascii: "t")): return try element(name, "true", .isTrue)
        case (4, UInt8(ascii: "r")): return try element(name, "real", .real)
        case (5, UInt8(ascii: "a")): return try element(name, "array", .array)
        case (5, UInt8(ascii: "f")): return try element(name, "false", .isFalse)
        case (5, UInt8(ascii: "p")): return try element(name, "plist", .plist)
        case (6, UInt8(ascii: "s")): return try element(name, "string", .string)
        case (7, UInt8(ascii: "i")): return try element(name, "integer", .integer)
        default: throw source.corrupt("an unknown element")
        }
    }

    private func dateOrData(_ name: UnsafeRawBufferPointer) throws -> Kind {
        name[3] == UInt8(ascii: "e") ? try element(name, "date", .date) : try element(name, "data", .data)
    }

    @inline(__always)
    private func element(_ name: UnsafeRawBufferPointer, _ text: StaticString, _ element: Kind) throws -> Kind {
        for index in 0..<name.count where name[index] != text.utf8Start[index] {
            throw source.corrupt("an unknown element")
        }
        return element
    }

    // MARK: Tags

    private mutating func begin(_ tag: XMLScanner.Tag) throws {
        let element = try element(tag)
        if top != nil { throw source.corrupt("more than one value") }
        switch element {
        case .plist:
            guard open.isEmpty else { throw source.corrupt("a property list inside another") }
            if !tag.isEmpty { open.append(Open(element: .plist, start: 0, isPlain: false)) }
        case .dictionary, .array:
            try expect(element)
            let isPlain = element == .dictionary && source.attribute("plain", of: tag) != nil
            let container = Open(element: element, start: pending.count, isPlain: isPlain)
            if tag.isEmpty { try close(container) } else { open.append(container) }
        default:
            try expect(element)
            try add(try scalar(element, tag))
        }
    }

    /// Checks that a key or a value may come here.
    private func expect(_ element: Kind) throws {
        guard let last = open.last, last.element == .dictionary else {
            guard element != .key else { throw source.corrupt("a key outside a dictionary") }
            return
        }
        let isKey = (pending.count - last.start) & 1 == 0
        guard isKey == (element == .key) else {
            throw source.corrupt(isKey ? "a value without a key" : "a key without a value")
        }
    }

    private mutating func end(_ tag: XMLScanner.Tag) throws {
        guard let last = open.popLast(), last.element == (try element(tag)) else {
            throw source.corrupt("an end tag without a start tag")
        }
        if last.element == .plist {
            guard top != nil || pending.count == 1 else { throw source.corrupt("no value") }
            if top == nil { top = pending.popLast() }
        } else {
            try close(last)
        }
    }

    private mutating func close(_ container: Open) throws {
        let node = try node(container)
        // The content is released first: otherwise this would copy all of `pending`.
        pending.removeLast(pending.count - container.start)
        try add(node)
    }

    private mutating func node(_ container: Open) throws -> UInt32 {
        let content = pending[container.start...]
        if container.element == .array { return try builder.array(content) }
        guard content.count & 1 == 0 else { throw source.corrupt("a key without a value") }
        if let uid = container.isPlain ? nil : try uid(content) { return try builder.uid(uid) }
        return try builder.dictionary(inTurn: content)
    }

    /// The number of a UID that is written as a dictionary.
    private func uid(_ content: ArraySlice<UInt32>) throws -> UInt64? {
        guard content.count == 2, let uidKey, content.first == uidKey, let lastInteger,
            content.last == lastInteger.number, lastInteger.value >= 0
        else { return nil }
        guard let uid = UInt64(exactly: lastInteger.value) else {
            throw source.corrupt("a reference to an object that is not in the archive")
        }
        return uid
    }

    private mutating func add(_ node: UInt32) throws {
        if open.isEmpty { top = node } else { pending.append(node) }
        guard pending.count / 4 <= limits.collection else {
            throw ArchiveError(.limit, "more than \(limits.collection) elements")
        }
        if let last = open.last, last.element == .plist, pending.count > 1 {
            throw source.corrupt("more than one value")
        }
    }

    // MARK: Scalars

    private mutating func scalar(_ element: Kind, _ tag: XMLScanner.Tag) throws -> UInt32 {
        switch element {
        case .isTrue, .isFalse:
            guard try content(tag).isEmpty else { throw source.corrupt("a truth value with content") }
            return try builder.bool(element == .isTrue)
        case .key, .string: return try string(tag, isKey: element == .key)
        case .integer: return try integer(tag)
        case .real: return try real(tag, try content(tag))
        case .date: return try date(tag, try content(tag))
        case .data: return try data(tag)
        default: throw source.corrupt("an element at the wrong place")
        }
    }

    /// The trimmed text of an element without child elements.
    private mutating func content(_ tag: XMLScanner.Tag) throws -> String {
        if tag.isEmpty { return "" }
        let text = try source.content(tag)
        let bytes = text.isPlain ? source.bytes(text.range) : UnsafeRawBufferPointer(start: nil, count: 0)
        guard text.isPlain else {
            let units = try source.units(text.range)
            guard let text = String(validating: units, as: UTF16.self) else { throw source.corrupt("broken text") }
            return String(text.trimmed)
        }
        guard bytes.count <= 256 || bytes.isASCII else { throw source.corrupt("a number or date that is too long") }
        return String(String(decoding: bytes, as: UTF8.self).trimmed)
    }

    private mutating func string(_ tag: XMLScanner.Tag, isKey: Bool) throws -> UInt32 {
        let replaced = source.attribute(XMLReplacements.attribute, of: tag)
        if tag.isEmpty, replaced == nil { return try builder.ascii(UnsafeRawBufferPointer(start: nil, count: 0)) }
        let text = tag.isEmpty ? (range: 0..<0, isPlain: true) : try source.content(tag)
        guard text.range.count <= limits.string else {
            throw ArchiveError(.limit, "a string of more than \(limits.string) bytes")
        }
        let bytes = source.bytes(text.range)
        guard text.isPlain, bytes.isASCII, replaced == nil else {
            var units = try source.units(text.range)
            if let replaced, !XMLReplacements.restore(&units, replaced) {
                throw source.corrupt("replaced characters that are not as many as in the text")
            }
            // Numeric entities may have been ASCII.
            if units.allSatisfy({ $0 < 0x80 }) {
                let ascii = units.map { UInt8(truncatingIfNeeded: $0) }
                return try ascii.withUnsafeBytes { try builder.ascii($0) }
            }
            return try builder.utf16(units)
        }
        let node = try builder.ascii(bytes)
        if isKey, uidKey == nil, bytes.elementsEqual("CF$UID".utf8) { uidKey = node }
        return node
    }

    private mutating func integer(_ tag: XMLScanner.Tag) throws -> UInt32 {
        let start = source
        if !tag.isEmpty {
            let text = try source.content(tag)
            if text.isPlain, let number = Self.shortInteger(source.bytes(text.range)) {
                let node = try builder.integer(number)
                lastInteger = (node, Int128(number))
                return node
            }
            source = start
        }
        return try integer(try content(tag))
    }

    /// An integer with few decimal digits, the common case; nil for others.
    private static func shortInteger(_ bytes: UnsafeRawBufferPointer) -> Int64? {
        guard let first = bytes.first, bytes.count <= 18 else { return nil }
        let isNegative = first == UInt8(ascii: "-")
        guard !isNegative || bytes.count > 1 else { return nil }
        var number: Int64 = 0
        for index in (isNegative ? 1 : 0)..<bytes.count {
            let digit = bytes[index] &- UInt8(ascii: "0")
            guard digit < 10 else { return nil }
            number = number &* 10 &+ Int64(digit)
        }
        return isNegative ? -number : number
    }

    private mutating func integer(_ text: String) throws -> UInt32 {
        var digits = text[...]
        let isNegative = digits.first == "-"
        if isNegative || digits.first == "+" { digits = digits.dropFirst() }
        let isHex = digits.hasPrefix("0x") || digits.hasPrefix("0X")
        if isHex { digits = digits.dropFirst(2) }
        guard let first = digits.utf8.first, first != UInt8(ascii: "-"), first != UInt8(ascii: "+"),
            let number = Int128((isNegative ? "-" : "") + digits, radix: isHex ? 16 : 10)
        else { throw source.corrupt("an invalid integer") }
        let node = try builder.integer(wide: number)
        lastInteger = (node, number)
        return node
    }

    private mutating func real(_ tag: XMLScanner.Tag, _ text: String) throws -> UInt32 {
        let isShort = source.attribute("width", of: tag) == "4"
        if let bits = source.attribute("bits", of: tag) {
            guard let bits = UInt64(bits, radix: 16) else { throw source.corrupt("an invalid real") }
            if !isShort { return try builder.double(bits: bits) }
            guard let short = UInt32(exactly: bits) else { throw source.corrupt("an invalid real") }
            return try builder.float(bits: short)
        }
        guard let value = XMLNumbers.real(text) else { throw source.corrupt("an invalid real") }
        return isShort
            ? try builder.float(bits: Float(value).bitPattern) : try builder.double(bits: value.bitPattern)
    }

    private mutating func date(_ tag: XMLScanner.Tag, _ text: String) throws -> UInt32 {
        if let bits = source.attribute("bits", of: tag) {
            guard let bits = UInt64(bits, radix: 16) else { throw source.corrupt("an invalid date") }
            return try builder.date(bits: bits)
        }
        guard let seconds = XMLNumbers.date(text) else { throw source.corrupt("an invalid date") }
        return try builder.date(bits: seconds.bitPattern)
    }

    private mutating func data(_ tag: XMLScanner.Tag) throws -> UInt32 {
        if tag.isEmpty { return try builder.data(UnsafeRawBufferPointer(start: nil, count: 0)) }
        let text = try source.content(tag)
        let node: UInt32?
        if text.isPlain {
            node = try builder.data(base64: source.bytes(text.range))
        } else {
            let units = try source.units(text.range)
            let ascii = units.map { $0 < 0x80 ? UInt8(truncatingIfNeeded: $0) : 0xFF }
            node = try ascii.withUnsafeBytes { try builder.data(base64: $0) }
        }
        guard let node else { throw source.corrupt("broken data") }
        return node
    }
}

extension String {
    /// Without white space at both ends.
    fileprivate var trimmed: Substring {
        func isSpace(_ character: Character) -> Bool { character.isWhitespace }
        var text = self[...]
        while let last = text.last, isSpace(last) { text.removeLast() }
        return text.drop(while: isSpace)
    }
}
