extension TypedStreamReader {
    /// The encoding of the value that was read last, a leaf; 0 if there was none.
    var lastEncoding: UInt8 { at > 0 ? source.byte(at: at - 1) : 0 }

    /// The next value, or what begins or ends there, or the end of the group.
    mutating func value() throws -> TypedStreamToken {
        guard at < typeEnd else { return endGroup() }
        if source.byte(at: at) == UInt8(ascii: "]"), hasNextElement() { at = Int(arrays[arrays.count - 1].element) }
        let encoding = source.byte(at: at)
        if depth == 0 { valueCount += 1 }
        switch encoding {
        case UInt8(ascii: "{"):
            let (name, fields) = TypedStreamType.structure(source, at: at + 1, end: typeEnd)
            at = fields
            depth += 1
            return .structure(name: name)
        case UInt8(ascii: "}"):
            at += 1
            depth -= 1
            return .endStructure
        case UInt8(ascii: "["): return try array()
        case UInt8(ascii: "]"):
            at += 1
            depth -= 1
            return .endArray
        default:
            at += 1
            return try leaf(encoding)
        }
    }

    // MARK: Arrays

    /// Whether the array that ends there has another element; forgets it if not.
    private mutating func hasNextElement() -> Bool {
        guard let last = arrays.indices.last, arrays[last].close == UInt32(at) else { return false }
        arrays[last].remaining -= 1
        if arrays[last].remaining > 0 { return true }
        arrays.removeLast()
        return false
    }

    private mutating func array() throws -> TypedStreamToken {
        let (count, element) = try TypedStreamType.arrayCount(source, at: at + 1, end: typeEnd)
        let encoding = source.byte(at: element)
        if encoding == UInt8(ascii: "c") || encoding == UInt8(ascii: "C") {
            at = element + 2
            pay(count)
            return .bytes(try source.skip(count, "the bytes of an array"), encoding: encoding)
        }
        // An array of one element needs no mark to come back to: its bracket is passed once.
        if count != 1 {
            var scan = TypedStreamType.Scan(source, from: element, to: typeEnd)
            let (close, least) = try scan.encoding()
            try use(close - element)
            guard count > 0, least > 0 else {
                at = close + 1
                return .emptyArray(count: count, element: element..<close)
            }
            guard pass != .opening || count <= limits.collection else {
                throw ArchiveError(.limit, "an array of more than \(limits.collection) elements")
            }
            // There are as many bytes, and each element has at least one.
            let (characters, isTooMuch) = (close - element).multipliedReportingOverflow(by: count)
            try use(isTooMuch ? Int.max : characters)
            arrays.append(OpenArray(element: UInt32(element), close: UInt32(close), remaining: UInt32(count)))
        }
        at = element
        depth += 1
        return .array(count: count, element: element)
    }

    // MARK: Leaves

    private mutating func leaf(_ encoding: UInt8) throws -> TypedStreamToken {
        if encoding == UInt8(ascii: "!") { return .nothing }
        pay(1)
        switch encoding {
        case UInt8(ascii: "@"): return try object()
        case UInt8(ascii: "#"): return try classValue()
        case UInt8(ascii: "*"): return try cString()
        case UInt8(ascii: "c"), UInt8(ascii: "C"): return .byte(try source.byte("a byte"))
        case UInt8(ascii: "B"): return .byte(try boolean())
        case UInt8(ascii: "f"):
            guard source.next == TypedStreamTag.bits else { return .number(try source.number("a number")) }
            return .float(bits: try source.bits(UInt32.self))
        case UInt8(ascii: "d"):
            guard source.next == TypedStreamTag.bits else { return .number(try source.number("a number")) }
            return .double(bits: try source.bits(UInt64.self))
        case UInt8(ascii: "+"):
            guard let range = try source.unshared("a string", limit: limits.string) else { return .null }
            return .text(range)
        case UInt8(ascii: "%"): return try name("an atom")
        case UInt8(ascii: ":"): return try name("a selector")
        default: return .number(try source.number("an integer"))
        }
    }

    private mutating func boolean() throws -> UInt8 {
        let position = source.position
        let byte = try source.byte("a Boolean")
        guard byte <= 1 else {
            source.seek(to: position)
            throw ArchiveError(.corrupt, "expected a Boolean, 0 or 1, found \(byte)")
        }
        return byte
    }

    private mutating func name(_ what: StaticString) throws -> TypedStreamToken {
        guard let text = try sharedString(what) else { return .null }
        return .name(text)
    }

    private mutating func object() throws -> TypedStreamToken {
        let offset = source.position
        if source.take(TypedStreamTag.null) { return .null }
        if source.take(TypedStreamTag.new) { return try newObject(at: offset) }
        return .reference(try reference(to: .object, "an object"))
    }

    private mutating func cString() throws -> TypedStreamToken {
        let offset = source.position
        if source.take(TypedStreamTag.null) { return .null }
        if source.take(TypedStreamTag.new) { return try newCString(at: offset) }
        return .reference(try reference(to: .cString, "a C string"))
    }
}

extension TypedStreamReader {
    /// The error with the place in the file and in the objects: `$3 of NSMenuItem #8: expected ..., at byte 512`.
    func located(_ error: ArchiveError) -> ArchiveError {
        let position = source.position
        let owner = openObject.map { " of " + name(ofObject: $0) } ?? ""
        let place =
            valueCount > 0
            ? "\(isBetweenGroups ? "behind " : "")$\(valueCount - 1)\(owner): "
            : owner.isEmpty ? "" : "in \(owner.dropFirst(4)): "
        return ArchiveError(error.code, "\(place)\(error.message), at byte \(position)")
    }

    /// The class and label of an object that is being read.
    private func name(ofObject label: Int) -> String {
        guard index.offset(label) + 1 < index.bytes.bytes.count else { return "#\(label)" }
        var reader = TypedStreamReader(viewing: label, in: index)
        let type: Int
        if source.byte(at: index.offset(label) + 1) == TypedStreamTag.new {
            type = label + 1
        } else if let known = try? reader.reference(to: .type, "a class") {
            type = known
        } else {
            return "#\(label)"
        }
        guard type >= 0, type < index.labelCount, index.kind(type) == .type, index.isComplete(class: type) else {
            return "#\(label)"
        }
        reader.source.seek(to: index.offset(type) + 1)
        guard let text = try? reader.sharedString("a class"), text.range.count <= 100,
            index.bytes.bytes[text.range].allSatisfy({ (0x21..<0x7F).contains($0) })
        else { return "#\(label)" }
        return "\(String(decoding: index.bytes.bytes[text.range], as: UTF8.self)) #\(label)"
    }
}
