/// A position in the UTF-8 text of a property list in XML; finds tags and the text between them.
struct XMLScanner {
    /// A tag; its ranges are offsets in the text.
    struct Tag {
        let name: Range<Int>
        let attributes: Range<Int>
        /// `</name>`.
        let isEnd: Bool
        /// `<name/>`.
        let isEmpty: Bool
    }

    private let base: UnsafeRawPointer
    private let count: Int
    private var position = 0

    init(_ bytes: UnsafeRawBufferPointer) {
        // An empty buffer may have no address; nothing is read from this stand-in.
        base = bytes.baseAddress ?? UnsafeRawPointer(bitPattern: 16).unsafelyUnwrapped
        count = bytes.count
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { position = 3 }
    }

    @inline(__always)
    private func byte(_ at: Int) -> UInt8 { base.load(fromByteOffset: at, as: UInt8.self) }

    func bytes(_ range: Range<Int>) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: base + range.lowerBound, count: range.count)
    }

    func text(_ range: Range<Int>) -> String { String(decoding: bytes(range), as: UTF8.self) }

    @inline(never)
    func corrupt(_ what: String) -> ArchiveError {
        var line = 1
        for index in 0..<min(position, count) where byte(index) == UInt8(ascii: "\n") { line += 1 }
        return ArchiveError(.corrupt, "a broken XML property list: \(what), in line \(line)")
    }

    func truncated() -> ArchiveError { ArchiveError(.truncated, "the XML property list ends too early") }

    // MARK: Tags

    private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 }

    /// The next tag of an element; nil at the end of the text.
    ///
    /// Only white space may come before it.
    mutating func nextTag() throws -> Tag? {
        while true {
            while position < count, Self.isSpace(byte(position)) { position &+= 1 }
            guard position < count else { return nil }
            guard byte(position) == UInt8(ascii: "<") else { throw corrupt("text outside a value") }
            guard position + 1 < count else { throw truncated() }
            switch byte(position + 1) {
            case UInt8(ascii: "?"):
                try checkEncoding()
                try skip(past: "?>")
            case UInt8(ascii: "!"): try skipDeclaration()
            default: return try tag()
            }
        }
    }

    private mutating func tag() throws -> Tag {
        position += 1
        let isEnd = byte(position) == UInt8(ascii: "/")
        if isEnd { position += 1 }
        let start = position
        while position < count, !Self.isSpace(byte(position)), byte(position) != UInt8(ascii: ">"),
            byte(position) != UInt8(ascii: "/"), byte(position) != UInt8(ascii: "<")
        {
            position &+= 1
        }
        let name = start..<position
        guard !name.isEmpty else { throw corrupt("a tag without a name") }
        let rest = position
        var quote: UInt8 = 0
        while position < count {
            let byte = byte(position)
            if quote != 0 {
                if byte == quote { quote = 0 }
            } else if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'") {
                quote = byte
            } else if byte == UInt8(ascii: ">") {
                let isEmpty = !isEnd && self.byte(position - 1) == UInt8(ascii: "/")
                let tag = Tag(
                    name: name, attributes: rest..<(isEmpty ? max(rest, position - 1) : position), isEnd: isEnd,
                    isEmpty: isEmpty)
                position += 1
                return tag
            } else if byte == UInt8(ascii: "<") {
                throw corrupt("a tag inside a tag")
            }
            position &+= 1
        }
        throw truncated()
    }

    /// The value of an attribute of a tag.
    func attribute(_ name: String, of tag: Tag) -> String? {
        guard !tag.attributes.isEmpty else { return nil }
        let parts = text(tag.attributes).split(omittingEmptySubsequences: true) {
            $0 == " " || $0 == "\t" || $0 == "\n"
        }
        for part in parts where part.hasPrefix(name + "=") {
            return String(part.dropFirst(name.utf8.count + 1).filter { $0 != "\"" && $0 != "'" })
        }
        return nil
    }

    private mutating func checkEncoding() throws {
        let end = min(count, position + 256)
        let declaration = text(position..<end).prefix { $0 != ">" }
        guard declaration.hasPrefix("<?xml"), let found = declaration.firstRange(of: "encoding=") else { return }
        let name = declaration[found.upperBound...].dropFirst().prefix { $0 != "\"" && $0 != "'" }.lowercased()
        guard ["utf-8", "utf8", "us-ascii", "ascii", "utf-16", "utf16"].contains(name) else {
            throw ArchiveError(.unsupported, "a property list in the encoding \(name): only UTF-8 and UTF-16 are read")
        }
    }

    private func starts(with text: StaticString, at position: Int) -> Bool {
        guard count - position >= text.utf8CodeUnitCount else { return false }
        for index in 0..<text.utf8CodeUnitCount where byte(position + index) != text.utf8Start[index] { return false }
        return true
    }

    private mutating func skip(past text: StaticString) throws {
        while position < count {
            if byte(position) == text.utf8Start[0], starts(with: text, at: position) {
                position += text.utf8CodeUnitCount
                return
            }
            position &+= 1
        }
        throw truncated()
    }

    /// Skips a comment or a document type, without reading its declarations.
    private mutating func skipDeclaration() throws {
        if starts(with: "<!--", at: position) {
            position += 4
            return try skip(past: "-->")
        }
        guard starts(with: "<!DOCTYPE", at: position) else { throw corrupt("a misplaced declaration") }
        var depth = 0
        while position < count {
            switch byte(position) {
            case UInt8(ascii: "<"):
                if starts(with: "<!--", at: position) {
                    try skip(past: "-->")
                    continue
                }
                depth += 1
            case UInt8(ascii: ">"): depth -= 1
            case UInt8(ascii: "\""), UInt8(ascii: "'"):
                let quote = byte(position)
                repeat { position += 1 } while position < count && byte(position) != quote
            default: break
            }
            position += 1
            if depth == 0 { return }
        }
        throw truncated()
    }

    // MARK: Text

    /// The text of an element without child elements; moves past its end.
    ///
    /// - Returns: Its place, and whether it is literal, without entities, comments and CDATA sections.
    mutating func content(_ tag: Tag) throws -> (range: Range<Int>, isPlain: Bool) {
        let start = position
        var isPlain = true
        while position < count {
            let byte = byte(position)
            if byte == UInt8(ascii: "&") {
                isPlain = false
            } else if byte == UInt8(ascii: "<") {
                guard position + 1 < count else { throw truncated() }
                let next = self.byte(position + 1)
                if next == UInt8(ascii: "!") {
                    isPlain = false
                    if starts(with: "<![CDATA[", at: position) {
                        try skip(past: "]]>")
                    } else if starts(with: "<!--", at: position) {
                        position += 4
                        try skip(past: "-->")
                    } else {
                        throw corrupt("a declaration inside text")
                    }
                    continue
                }
                let end = position
                guard next == UInt8(ascii: "/") else { throw corrupt("an element inside text") }
                let name = bytes(tag.name)
                let closing = try self.tag()
                guard bytes(closing.name).elementsEqual(name) else { throw corrupt("an end tag without a start tag") }
                return (start..<end, isPlain)
            }
            position &+= 1
        }
        throw truncated()
    }

    /// The UTF-16 units of a text, with entities replaced.
    func units(_ range: Range<Int>) throws -> [UInt16] {
        var units: [UInt16] = []
        units.reserveCapacity(range.count)
        var at = range.lowerBound
        while at < range.upperBound {
            switch byte(at) {
            case UInt8(ascii: "&"): at = try entity(at, range.upperBound, &units)
            case UInt8(ascii: "<"):
                let isSection = starts(with: "<![CDATA[", at: at)
                let close: StaticString = isSection ? "]]>" : "-->"
                let first = at + (isSection ? 9 : 4)
                var end = first
                while end < range.upperBound, !starts(with: close, at: end) { end += 1 }
                if isSection { try decode(first..<min(end, range.upperBound), &units) }
                at = end + 3
            default:
                var end = at
                while end < range.upperBound, byte(end) != UInt8(ascii: "&"), byte(end) != UInt8(ascii: "<") {
                    end &+= 1
                }
                try decode(at..<end, &units)
                at = end
            }
        }
        return units
    }

    private func entity(_ at: Int, _ end: Int, _ units: inout [UInt16]) throws -> Int {
        var close = at + 1
        while close < end, close - at < 16, byte(close) != UInt8(ascii: ";") { close += 1 }
        guard close < end, byte(close) == UInt8(ascii: ";") else { throw corrupt("an entity without an end") }
        let name = text(at + 1..<close)
        switch name {
        case "lt": units.append(UInt16(UInt8(ascii: "<")))
        case "gt": units.append(UInt16(UInt8(ascii: ">")))
        case "amp": units.append(UInt16(UInt8(ascii: "&")))
        case "quot": units.append(UInt16(UInt8(ascii: "\"")))
        case "apos": units.append(UInt16(UInt8(ascii: "'")))
        default:
            guard name.hasPrefix("#") else { throw corrupt("an unknown entity") }
            let isHex = name.hasPrefix("#x")
            let digits = name.dropFirst(isHex ? 2 : 1)
            guard digits.first?.isHexDigit == true, let number = UInt32(digits, radix: isHex ? 16 : 10),
                number <= 0x10FFFF
            else { throw corrupt("a character that does not exist") }
            // Unpaired surrogates are accepted: strings in archives may have them.
            if let scalar = Unicode.Scalar(number) {
                units.append(contentsOf: UTF16.encode(scalar) ?? .init())
            } else {
                units.append(UInt16(number))
            }
        }
        return close + 1
    }

    private func decode(_ range: Range<Int>, _ units: inout [UInt16]) throws {
        let bytes = bytes(range)
        if bytes.isASCII {
            for byte in bytes { units.append(UInt16(byte)) }
            return
        }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            return try decodeSurrogates(bytes, &units)
        }
        units.append(contentsOf: text.utf16)
    }

    /// Decodes text that may have unpaired surrogates, encoded as `UTF16Text` does.
    private func decodeSurrogates(_ bytes: UnsafeRawBufferPointer, _ units: inout [UInt16]) throws {
        var at = 0
        while at < bytes.count {
            if bytes.count - at >= 3, bytes[at] == 0xED, bytes[at + 1] >= 0xA0, bytes[at + 1] < 0xC0,
                bytes[at + 2] & 0xC0 == 0x80
            {
                units.append(0xD000 | UInt16(bytes[at + 1] & 0x3F) << 6 | UInt16(bytes[at + 2] & 0x3F))
                at += 3
                continue
            }
            var end = at + 1
            while end < bytes.count, bytes[end] != 0xED { end += 1 }
            let part = UnsafeRawBufferPointer(rebasing: bytes[at..<end])
            guard let text = String(validating: part, as: UTF8.self) else {
                // A character that begins with 0xED but is not a surrogate.
                guard bytes.count - at >= 3, bytes[at] == 0xED,
                    let one = String(validating: UnsafeRawBufferPointer(rebasing: bytes[at..<at + 3]), as: UTF8.self)
                else { throw corrupt("text that is not UTF-8") }
                units.append(contentsOf: one.utf16)
                at += 3
                continue
            }
            units.append(contentsOf: text.utf16)
            at = end
        }
    }
}
