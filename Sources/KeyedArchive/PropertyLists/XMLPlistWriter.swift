#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Writes a property list as XML, from its binary form and without recursion.
///
/// XML cannot share values: a shared value is written out each time. The values and bytes are counted before anything
/// is written, and are bounded by the size of the binary form.
struct XMLPlistWriter {
    /// Bytes not passed to the receiver yet.
    private var out = ByteSink(capacity: 2 * Self.piece)
    private var handedOver = 0
    private let receiver: (UnsafeRawBufferPointer) throws -> Void
    private let table: PlistTable
    private let limits: ArchiveLimits
    /// Shared values multiply: a one-byte reference takes four lines here, and many references may share a long string.
    private let mostBytes: Int
    private var path: [(number: Int, next: Int)] = []

    /// Bytes to gather before passing them on; a multiple of 3, so that base 64 continues across pieces.
    private static let piece = 3 << 14

    /// Passes the XML of a binary property list to `receiver`, piece by piece; each is valid during the call.
    static func write(
        _ binary: ArchiveBytes, limits: ArchiveLimits, to receiver: (UnsafeRawBufferPointer) throws -> Void
    ) throws {
        let table = try PlistTable(binary.bytes, owner: binary, limits: limits)
        try withoutActuallyEscaping(receiver) {
            var writer = XMLPlistWriter(table, limits, $0)
            defer { writer.out.deallocate() }
            try writer.checkSize()
            try writer.write()
        }
    }

    /// The XML of a property list in binary form.
    static func array(_ binary: ArchiveBytes, limits: ArchiveLimits) throws -> [UInt8] {
        var bytes: [UInt8] = []
        try write(binary, limits: limits) { bytes.append(contentsOf: $0) }
        return bytes
    }

    private init(
        _ table: PlistTable, _ limits: ArchiveLimits, _ receiver: @escaping (UnsafeRawBufferPointer) throws -> Void
    ) {
        self.table = table
        self.limits = limits
        self.receiver = receiver
        mostBytes = min(limits.bytes, (16 << 20) + 256 * table.file.count)
    }

    /// Counts the values and the bytes of their texts, with shared ones written out each time.
    private func checkSize() throws {
        guard !table.shared.isEmpty || !table.sharedLeaves.isEmpty else { return }
        var totals = ContiguousArray<Total>(repeating: Total(), count: table.count)
        var path: [(number: Int, next: Int)] = [(table.top, 0)]
        let (most, isUnbounded) = limits.objects.multipliedReportingOverflow(by: 8)
        let mostValues = isUnbounded ? Int.max : max(most, table.count)
        walk: while var last = path.last {
            let node = table.node(last.number)
            let references = node.kind == .array ? node.count : node.kind == .dictionary ? 2 * node.count : 0
            while last.next < references {
                let target = table.reference(node, last.next)
                if totals[target].values == 0 {
                    let targetNode = table.node(target)
                    if targetNode.isContainer {
                        path[path.count - 1] = last
                        path.append((target, 0))
                        continue walk
                    }
                    totals[target] = Total(values: 1, bytes: targetNode.count)
                }
                totals[last.number].add(totals[target])
                guard totals[last.number].values < mostValues, totals[last.number].bytes <= mostBytes else {
                    throw Self.tooMuch()
                }
                last.next += 1
            }
            totals[last.number].values += 1
            path.removeLast()
        }
    }

    /// The size of a value; it saturates beyond what any file could hold.
    private struct Total {
        var values = 0
        var bytes = 0

        mutating func add(_ other: Total) {
            values = min(values + other.values, 1 << 48)
            bytes = min(bytes + other.bytes, 1 << 48)
        }
    }

    private static func tooMuch() -> ArchiveError {
        ArchiveError(.limit, "values shared so often that they are too large for XML")
    }

    private mutating func write() throws {
        line(
            """
            <?xml version="1.0" encoding="UTF-8"?>
            <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
            <plist version="1.0">
            """)
        try begin(table.top)
        while let last = path.last {
            let node = table.node(last.number)
            guard last.next < node.count else {
                path.removeLast()
                indent()
                line(node.kind == .array ? "</array>" : "</dict>")
                continue
            }
            path[path.count - 1].next += 1
            if node.kind == .array {
                try begin(table.reference(node, last.next))
            } else {
                indent()
                try text("key", table.node(table.reference(node, last.next)))
                try begin(table.value(node, last.next))
            }
        }
        line("</plist>")
        try handOver()
    }

    /// Passes the gathered bytes on, if there are enough.
    @inline(__always)
    private mutating func handOverPiece() throws {
        if out.count >= Self.piece { try handOver() }
    }

    private mutating func handOver() throws {
        handedOver += out.count
        guard handedOver <= mostBytes else {
            throw handedOver > limits.bytes
                ? ArchiveError(.limit, "an archive of more than \(limits.bytes) bytes") : Self.tooMuch()
        }
        try receiver(out.bytes)
        out.count = 0
    }

    // MARK: Nodes

    /// Levels beyond this are not indented further: nesting may be very deep.
    private static let deepestIndent = 32

    private mutating func indent() {
        for _ in 0..<min(path.count, Self.deepestIndent) { out.byte(UInt8(ascii: "\t")) }
    }

    private mutating func line(_ text: String) {
        raw(text)
        out.byte(UInt8(ascii: "\n"))
    }

    private mutating func raw(_ text: String) {
        var text = text
        text.withUTF8 { out.append(UnsafeRawBufferPointer($0)) }
    }

    private mutating func begin(_ number: Int) throws {
        try handOverPiece()
        let node = table.node(number)
        indent()
        switch node.kind {
        case .array, .dictionary:
            let name = node.kind == .array ? "array" : "dict"
            guard node.count > 0 else { return line("<\(name)/>") }
            line(isLikeUID(node) ? "<dict plain=\"yes\">" : "<\(name)>")
            path.append((number, 0))
        case .null, .invalid: line("<string>$null</string>")
        case .isFalse: line("<false/>")
        case .isTrue: line("<true/>")
        case .integer: line("<integer>\(table.integer(node))</integer>")
        case .real: real(node)
        case .date: date(table.unsigned(node.start, 8))
        case .ascii, .utf8, .utf16: try text("string", node)
        case .data:
            raw("<data>")
            try pieces(table.bytes(node)) { Base64.encode($1, into: &$0.out) }
            line("</data>")
        case .uid:
            line("<dict>")
            indent()
            line("\t<key>CF$UID</key>")
            indent()
            line("\t<integer>\(table.uid(node) ?? 0)</integer>")
            indent()
            line("</dict>")
        }
    }

    /// Whether a dictionary would be taken for a UID.
    private func isLikeUID(_ node: PlistNode) -> Bool {
        guard node.kind == .dictionary, node.count == 1, table.isString(table.reference(node, 0), "CF$UID") else {
            return false
        }
        return table.node(table.value(node, 0)).kind == .integer
    }

    private mutating func real(_ node: PlistNode) {
        let bits = table.unsigned(node.start, node.count)
        let isShort = node.count == 4
        let value =
            isShort ? Double(Float(bitPattern: UInt32(truncatingIfNeeded: bits))) : Double(bitPattern: bits)
        let width = isShort ? " width=\"4\"" : ""
        // Only one NaN has a name.
        let isNamed = !value.isNaN || bits == (isShort ? UInt64(Float.nan.bitPattern) : Double.nan.bitPattern)
        let exact = isNamed ? "" : " bits=\"\(String(bits, radix: 16))\""
        line("<real\(width)\(exact)>\(XMLNumbers.text(value))</real>")
    }

    private mutating func date(_ bits: UInt64) {
        let seconds = Double(bitPattern: bits)
        let known = XMLNumbers.text(date: seconds)
        let text = known ?? "2001-01-01T00:00:00Z"
        let isExact = XMLNumbers.date(text)?.bitPattern == bits
        line(isExact ? "<date>\(text)</date>" : "<date bits=\"\(String(bits, radix: 16))\">\(text)</date>")
    }

    /// Writes the text of a node's content, piece by piece.
    private mutating func pieces(
        _ bytes: UnsafeRawBufferPointer, _ write: (inout XMLPlistWriter, UnsafeRawBufferPointer) -> Void
    ) throws {
        var rest = bytes[...]
        while !rest.isEmpty {
            write(&self, UnsafeRawBufferPointer(rebasing: rest.prefix(Self.piece)))
            rest = rest.dropFirst(Self.piece)
            try handOverPiece()
        }
    }

    // MARK: Text

    private mutating func text(_ element: String, _ node: PlistNode) throws {
        raw("<\(element)")
        let bytes = table.bytes(node)
        if node.kind != .utf16, bytes.isASCII, !XMLReplacements.areNeeded(inASCII: bytes) {
            out.byte(UInt8(ascii: ">"))
            try pieces(bytes) { $0.escaped($1) }
        } else {
            let units = node.kind == .utf16 ? table.units(node) : Array(String(decoding: bytes, as: UTF8.self).utf16)
            try self.units(units)
        }
        line("</\(element)>")
    }

    /// Writes the end of an element's first tag, and its text.
    private mutating func units(_ units: [UInt16]) throws {
        guard XMLReplacements.areNeeded(in: units) else {
            out.byte(UInt8(ascii: ">"))
            return escaped(units[...])
        }
        raw(" \(XMLReplacements.attribute)=\"")
        var isFirst = true
        for index in units.indices where isReplacement(units, index) {
            raw("\(isFirst ? "" : ",")\(String(units[index], radix: 16))")
            isFirst = false
            try handOverPiece()
        }
        raw("\">")
        var start = 0
        for index in units.indices where isReplacement(units, index) {
            escaped(units[start..<index])
            raw("\u{FFFD}")
            start = index + 1
            try handOverPiece()
        }
        escaped(units[start...])
    }

    /// Whether U+FFFD is written at a place, for itself or for another unit.
    private func isReplacement(_ units: [UInt16], _ at: Int) -> Bool {
        units[at] == XMLReplacements.stand || XMLReplacements.isReplaced(units, at)
    }

    private mutating func escaped(_ units: ArraySlice<UInt16>) { escaped(String(decoding: units, as: UTF16.self)) }

    private mutating func escaped(_ text: String) {
        var text = text
        text.withUTF8 { escaped(UnsafeRawBufferPointer($0)) }
    }

    private mutating func escaped(_ bytes: UnsafeRawBufferPointer) {
        var start = 0
        for index in 0..<bytes.count {
            let byte = bytes[index]
            guard byte == 0x0D || byte == UInt8(ascii: "&") || byte == UInt8(ascii: "<") || byte == UInt8(ascii: ">")
            else { continue }
            out.append(UnsafeRawBufferPointer(rebasing: bytes[start..<index]))
            start = index + 1
            switch byte {
            case UInt8(ascii: "&"): raw("&amp;")
            case UInt8(ascii: "<"): raw("&lt;")
            case UInt8(ascii: ">"): raw("&gt;")
            // A parser makes a line feed of a carriage return that is not an entity.
            default: raw("&#13;")
            }
        }
        out.append(UnsafeRawBufferPointer(rebasing: bytes[start...]))
    }
}
