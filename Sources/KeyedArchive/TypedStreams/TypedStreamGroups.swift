/// Groups of values of a typedstream: those of an object, or those that belong to none.
public struct TypedStreamGroups: Sequence, Sendable {
    let start: TypedStreamPlace

    /// An iterator over the groups.
    public func makeIterator() -> Iterator { Iterator(reader: TypedStreamReader(viewing: start)) }

    /// Reads group after group.
    public struct Iterator: IteratorProtocol {
        var reader: TypedStreamReader
        private var isInGroup = false

        fileprivate init(reader: TypedStreamReader) { self.reader = reader }

        /// The next group.
        ///
        /// - Complexity: Linear in the number of the values of the group before.
        public mutating func next() -> TypedStreamGroup? {
            // The stream was checked when it was opened.
            while isInGroup, let token = try? reader.next() {
                if case .endGroup = token { isInGroup = false }
            }
            isInGroup = true
            guard case .group(let type)? = try? reader.next() else { return nil }
            let encodings = type.start..<type.end
            return TypedStreamGroup(
                type: ArchivedText(reader.index.bytes, encodings),
                values: TypedStreamValues(start: reader.place, encodings: encodings))
        }
    }
}

/// Values that were written at one time, with their types.
public struct TypedStreamGroup: Sendable {
    /// The encodings of the values, one behind the other, as Objective-C writes them: `@`, `iI`, `{CGPoint=dd}`.
    public let type: ArchivedText
    /// The values.
    public let values: TypedStreamValues

    /// The encodings in `type`, each by itself; that of a structure contains those of its fields.
    ///
    /// - Complexity: Linear in the length of `type`.
    public var types: [ArchivedText] {
        var types: [ArchivedText] = []
        let reader = TypedStreamReader(viewing: values.start, values.encodings)
        var start = values.encodings.lowerBound
        while start < values.encodings.upperBound {
            let end = reader.end(ofEncodingAt: start)
            types.append(reader.text(start..<end))
            start = end
        }
        return types
    }
}

/// The values of a group, with those inside structures and arrays.
public struct TypedStreamValues: Sequence, Sendable {
    let start: TypedStreamPlace
    /// The place of the type string.
    let encodings: Range<Int>

    /// An iterator over the values.
    public func makeIterator() -> Iterator { Iterator(reader: TypedStreamReader(viewing: start, encodings)) }

    /// Reads value after value.
    public struct Iterator: IteratorProtocol {
        var reader: TypedStreamReader

        /// The next value.
        public mutating func next() -> TypedStreamValue? {
            // The stream was checked when it was opened.
            guard let token = try? reader.next() else { return nil }
            return TypedStreamValue(token, &reader)
        }
    }
}

extension TypedStreamReader {
    /// The place where an encoding of the type string ends that begins there.
    func end(ofEncodingAt start: Int) -> Int {
        var scan = TypedStreamType.Scan(source, from: start, to: typeEnd)
        return (try? scan.encoding())?.end ?? typeEnd
    }

    /// The encoding of an array's elements, which begins there.
    ///
    /// Arrays may be inside one another as often as their type has characters: all of them are found at once.
    mutating func element(at start: Int) -> Range<Int> {
        if !elementRange.contains(start) {
            var scan = TypedStreamType.Scan(source, from: start, to: typeEnd, keepsElements: true)
            let end = (try? scan.encoding())?.end ?? typeEnd
            elements = scan.elements
            elementRange = start..<end
        }
        guard start > elementRange.lowerBound else { return elementRange }
        var (low, high) = (0, elements.count)
        while low < high {
            let middle = (low + high) / 2
            if Int(elements[middle].start) < start { low = middle + 1 } else { high = middle }
        }
        return start..<(low < elements.count ? Int(elements[low].end) : typeEnd)
    }

    func text(_ range: Range<Int>) -> ArchivedText { ArchivedText(index.bytes, range) }
}

extension TypedStreamValue {
    /// Nil for the end of a group.
    init?(_ token: TypedStreamToken, _ reader: inout TypedStreamReader) {
        switch token {
        case .nothing: self = .nothing
        case .null:
            switch reader.lastEncoding {
            case UInt8(ascii: "%"): self = .atom(nil)
            case UInt8(ascii: ":"): self = .selector(nil)
            default: self = .null
            }
        case .byte(let byte):
            switch reader.lastEncoding {
            case UInt8(ascii: "c"): self = .integer(Int64(Int8(bitPattern: byte)))
            case UInt8(ascii: "B"): self = .bool(byte != 0)
            default: self = .integer(Int64(byte))
            }
        case .number(let number): self.init(number.value, reader.lastEncoding)
        case .float(let bits): self = .float(bits: bits)
        case .double(let bits): self = .double(bits: bits)
        case .text(let range): self = .text(reader.text(range))
        case .name(let string):
            let text = reader.text(string.range)
            self = reader.lastEncoding == UInt8(ascii: "%") ? .atom(text) : .selector(text)
        case .bytes(let range, let encoding):
            self = .bytes(reader.text(range), isSigned: encoding == UInt8(ascii: "c"))
        case .array(let count, let element):
            self = .array(count: count, of: reader.text(reader.element(at: element)))
        case .emptyArray(let count, let element): self = .emptyArray(count: count, of: reader.text(element))
        case .endArray: self = .endArray
        case .structure(let name): self = .structure(name: name.map(reader.text))
        case .endStructure: self = .endStructure
        case .reference(let label), .object(let label), .cString(let label, _): self = .label(label)
        case .group, .endGroup, .endObject, .type: return nil
        }
    }

    private init(_ value: Int64, _ encoding: UInt8) {
        switch encoding {
        case UInt8(ascii: "s"): self = .integer(Int64(Int16(truncatingIfNeeded: value)))
        case UInt8(ascii: "S"): self = .integer(Int64(UInt16(truncatingIfNeeded: value)))
        case UInt8(ascii: "i"), UInt8(ascii: "l"): self = .integer(Int64(Int32(truncatingIfNeeded: value)))
        case UInt8(ascii: "I"), UInt8(ascii: "L"): self = .integer(Int64(UInt32(truncatingIfNeeded: value)))
        case UInt8(ascii: "Q"): self = value < 0 ? .unsigned(UInt64(bitPattern: value)) : .integer(value)
        case UInt8(ascii: "f"): self = .float(bits: Float(value).bitPattern)
        case UInt8(ascii: "d"): self = .double(bits: Double(value).bitPattern)
        default: self = .integer(value)
        }
    }
}
