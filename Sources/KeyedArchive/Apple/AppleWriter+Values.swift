#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension AppleWriter {
    /// Writes the next value as a field of an object: numbers inline, everything else as a reference.
    mutating func field() throws -> UInt32 {
        var next = source
        let tag = try next.byte()
        switch tag {
        case 0...0x7F, Tag.isFalse, Tag.isTrue, Tag.integer, Tag.unsigned, Tag.int128, Tag.float, Tag.double:
            return try scalar()
        case Tag.none:
            source = next
            return try uid(0)
        case Tag.asObject, Tag.asMutable:
            // Nil stays nil.
            var inner = next
            guard try inner.byte() == Tag.none else { return try uid(try object(inValue: false)) }
            source = inner
            return try uid(0)
        default: return try uid(try object(inValue: false))
        }
    }

    /// Writes the next value as an object, and returns its index.
    ///
    /// - Parameter inValue: Whether the value is inside a `Codable` value, which contains plain values only.
    mutating func object(inValue: Bool) throws -> UInt32 {
        let start = source.position
        let tag = try source.byte()
        switch tag {
        case Tag.firstString...Tag.lastString, Tag.string:
            source.seek(to: start)
            return try string()
        case Tag.reference: return try reference(try source.varint(), inValue)
        case Tag.none: return try null()
        case 0...0x7F, Tag.isFalse, Tag.isTrue, Tag.integer, Tag.unsigned, Tag.int128, Tag.float, Tag.double:
            source.seek(to: start)
            return object(of: try scalar())
        case Tag.conditional:
            let number = try source.fixed(UInt32.self)
            return number == .max ? 0 : try reference(UInt64(number), inValue)
        case Tag.bytes: return object(of: try data())
        case Tag.asObject: return try object(inValue: inValue)
        case Tag.asMutable: return try mutable(inValue)
        case Tag.date: return try date()
        case Tag.uuid: return try uuid(inValue)
        case Tag.url: return try url(inValue)
        case Tag.decimal: return try decimal(inValue)
        case Tag.uint128: return object(of: try builder.string("\(try source.fixed(UInt128.self))"))
        default: return try container(tag, inValue)
        }
    }

    private mutating func scalar() throws -> UInt32 {
        let tag = try source.byte()
        switch tag {
        case Tag.isFalse: return try builder.bool(false)
        case Tag.isTrue: return try builder.bool(true)
        case Tag.integer: return try builder.integer(try source.zigzag())
        case Tag.unsigned: return try builder.integer(wide: Int128(try source.varint()))
        case Tag.int128: return try builder.integer(wide: try source.fixed(Int128.self))
        case Tag.float: return try builder.float(bits: try source.fixed(UInt32.self))
        case Tag.double: return try builder.double(bits: try source.fixed(UInt64.self))
        default: return try builder.integer(Int64(tag))
        }
    }

    private mutating func reference(_ number: UInt64, _ inValue: Bool) throws -> UInt32 {
        if !plainBodies.isEmpty, let start = plainBodies[Int(truncatingIfNeeded: number)] {
            return try plain(at: start)
        }
        guard number < UInt64(objectLimit) else { throw ArchiveError(.corrupt, "an object that is not in the archive") }
        return index(of: Int(number))
    }

    /// Writes an object whose class is `Codable` but not `ObjectCoding`: its body becomes a value.
    private mutating func plain(at start: Int) throws -> UInt32 {
        let outer = source.position
        defer { source.seek(to: outer) }
        source.seek(to: start)
        do {
            // Two levels, as a value in a value may take: so no more of these are written than are read.
            return try nested { writer in
                try writer.nested {
                    let (shape, _) = try $0.shape(&$0.source)
                    return shape.layout == .single ? try $0.object(inValue: true) : try $0.dictionary(of: shape)
                }
            }
        } catch let error as ArchiveError where error.code == .limit && error.message == limits.tooDeep.message {
            throw ArchiveError(
                .cycle, "values nested too deep, perhaps by a class that is only Codable and leads to itself")
        }
    }

    private mutating func nested<R>(_ body: (inout AppleWriter) throws -> R) throws -> R {
        let isSegmentFull = try nesting.enter()
        defer { nesting.leave() }
        if isSegmentFull { return try StackSegment.run { try body(&self) } }
        return try body(&self)
    }

    // MARK: Strings and bytes

    private mutating func string(isMutable: Bool = false) throws -> UInt32 {
        let tag = try source.byte()
        let length = tag == Tag.string ? try source.length() : Int(tag & 0x3F)
        let start = source.position
        try source.advance(length)
        let bytes = UnsafeRawBufferPointer(start: source.base + start, count: length)
        let isNull = length == 5 && bytes.elementsEqual("$null".utf8)
        return try string(of: builder.string(utf8: bytes), isMutable: isMutable || isNull)
    }

    /// Writes a string as an object.
    ///
    /// - Parameter isMutable: Also set for `$null`, which would mean nil as a plain string.
    private mutating func string(of node: UInt32, isMutable: Bool) throws -> UInt32 {
        isMutable ? try add("NSMutableString", ["NSString"], [("NS.string", node)]) : object(of: node)
    }

    /// Writes the next value as an object of a mutable class, if there is one for it.
    private mutating func mutable(_ inValue: Bool) throws -> UInt32 {
        let start = source.position
        let tag = try source.byte()
        switch tag {
        case Tag.firstString...Tag.lastString, Tag.string:
            source.seek(to: start)
            return try string(isMutable: true)
        case Tag.bytes: return try add("NSMutableData", ["NSData"], [("NS.data", try data())])
        case Tag.list, Tag.set, Tag.map, Tag.record, Tag.references, Tag.packed:
            return try container(tag, inValue, isMutable: true)
        default:
            source.seek(to: start)
            return try object(inValue: inValue)
        }
    }

    /// The next bytes, from the body or from a blob.
    private mutating func bytes() throws -> (bytes: UnsafeRawBufferPointer, owner: AnyObject?) {
        let length = try source.varint()
        if !blobs.isEmpty, let blob = blob(at: source.position) { return (blob.bytes, blob.owner) }
        guard length <= UInt64(source.remaining) else { throw ByteSource.truncated() }
        return (try source.bytes(Int(length)), nil)
    }

    private func blob(at position: Int) -> Blob? {
        var low = 0
        var high = blobs.count
        while low < high {
            let middle = (low + high) / 2
            if blobs[middle].position < position { low = middle + 1 } else { high = middle }
        }
        return low < blobs.count && blobs[low].position == position ? blobs[low] : nil
    }

    private mutating func data() throws -> UInt32 {
        let (bytes, owner) = try bytes()
        return if let owner { try builder.data(bytes, owner: owner) } else { try builder.data(bytes) }
    }

    // MARK: Foundation's values

    private mutating func date() throws -> UInt32 {
        try add("NSDate", [], [("NS.time", try builder.double(bits: try source.fixed(UInt64.self)))])
    }

    private mutating func uuid(_ inValue: Bool) throws -> UInt32 {
        let start = source.position
        try source.advance(16)
        let bytes = UnsafeRawBufferPointer(start: source.base + start, count: 16)
        guard !inValue else {
            let uuid = UUID(uuid: bytes.loadUnaligned(as: uuid_t.self))
            return object(of: try builder.string(uuid.uuidString))
        }
        return try add("NSUUID", [], [("NS.uuidbytes", try builder.data(bytes))])
    }

    private mutating func url(_ inValue: Bool) throws -> UInt32 {
        let relative = try string()
        let hasBase = try !source.takesNil()
        guard inValue else {
            let base = hasBase ? try plainURL(try string(), 0) : 0
            return try plainURL(relative, base)
        }
        var keys = [object(of: try builder.string("relative"))]
        var values = [relative]
        if hasBase {
            let inner = try dictionary(keys, [try string()])
            keys.append(object(of: try builder.string("base")))
            values.append(inner)
        }
        return try dictionary(keys, values)
    }

    private mutating func plainURL(_ relative: UInt32, _ base: UInt32) throws -> UInt32 {
        try add("NSURL", [], [("NS.base", try uid(base)), ("NS.relative", try uid(relative))])
    }

    private mutating func decimal(_ inValue: Bool) throws -> UInt32 {
        let (digits, exponent) = try source.decimal(limits)
        let value = try DecimalParts(digits: digits)
        guard inValue else {
            let mantissa = try value.mantissa.withUnsafeBytes { try builder.data($0) }
            return try add(
                "NSDecimalNumber", ["NSNumber", "NSValue"],
                [
                    ("NS.exponent", try builder.integer(exponent)),
                    ("NS.length", try builder.integer(Int64(value.length))),
                    ("NS.negative", try builder.bool(value.isNegative)), ("NS.compact", try builder.bool(true)),
                    ("NS.mantissa.bo", try builder.integer(1)), ("NS.mantissa", mantissa),
                ])
        }
        var words: [UInt32] = []
        for word in value.words { words.append(object(of: try builder.integer(Int64(word)))) }
        let fields: [(String, UInt32)] = [
            ("exponent", object(of: try builder.integer(exponent))),
            ("length", object(of: try builder.integer(Int64(value.length)))),
            ("isNegative", object(of: try builder.bool(value.isNegative))),
            ("isCompact", object(of: try builder.bool(true))), ("mantissa", try array("NSArray", words)),
        ]
        var keys: [UInt32] = []
        for (key, _) in fields { keys.append(object(of: try builder.string(key))) }
        return try dictionary(keys, fields.map(\.1))
    }

    // MARK: Containers

    private mutating func container(_ tag: UInt8, _ inValue: Bool, isMutable: Bool = false) throws -> UInt32 {
        switch tag {
        case Tag.list, Tag.set:
            let elements = try elements(try source.length(), inValue)
            return try array(tag == Tag.set && !inValue ? "NSSet" : "NSArray", elements, isMutable)
        case Tag.map: return try map(inValue, isMutable)
        case Tag.record:
            let (shape, _) = try shape(&source)
            return try nested { try $0.dictionary(of: shape, isMutable) }
        case Tag.references:
            var elements: [UInt32] = []
            var expected: Int64 = 0
            for _ in 0..<(try source.length()) {
                let number = expected &+ (try source.zigzag())
                elements.append(try reference(UInt64(bitPattern: number), inValue))
                expected = number &+ 1
            }
            return try array("NSArray", elements, isMutable)
        case Tag.packed: return try packed(isMutable)
        case Tag.some: return try optional(inValue)
        case Tag.external:
            throw ArchiveError(.unsupported, "objects by reference can only be sent over a connection")
        default: throw ArchiveError(.corrupt, "an unknown tag")
        }
    }

    private mutating func elements(_ count: Int, _ inValue: Bool) throws -> [UInt32] {
        try nested { writer in
            var elements: [UInt32] = []
            elements.reserveCapacity(min(count, 1024))
            for _ in 0..<count { elements.append(try writer.object(inValue: inValue)) }
            return elements
        }
    }

    private mutating func uids(_ indexes: [UInt32]) throws -> UInt32 {
        var nodes: [UInt32] = []
        nodes.reserveCapacity(indexes.count)
        for index in indexes { nodes.append(try uid(index)) }
        return try builder.array(nodes)
    }

    private mutating func array(_ type: String, _ elements: [UInt32], _ isMutable: Bool = false) throws -> UInt32 {
        try collection(type, isMutable, [("NS.objects", try uids(elements))])
    }

    private mutating func dictionary(
        _ keys: [UInt32], _ values: [UInt32], _ isMutable: Bool = false
    ) throws -> UInt32 {
        try collection(
            "NSDictionary", isMutable, [("NS.keys", try uids(keys)), ("NS.objects", try uids(values))])
    }

    private mutating func collection(
        _ type: String, _ isMutable: Bool, _ fields: [(StaticString, UInt32)]
    ) throws -> UInt32 {
        // NSArray, NSMutableArray.
        isMutable ? try add("NSMutable" + type.dropFirst(2), [type], fields) : try add(type, [], fields)
    }

    /// Writes the content of a record as a dictionary.
    private mutating func dictionary(of shape: Shape, _ isMutable: Bool = false) throws -> UInt32 {
        var keys: [UInt32] = []
        var values: [UInt32] = []
        try eachField(shape) { writer, key in
            let text = StoredKey.unescaped(key)
            keys.append(try writer.string(of: try writer.builder.string(text), isMutable: text == "$null"))
            values.append(try writer.object(inValue: true))
        }
        return try dictionary(keys, values, isMutable)
    }

    private mutating func map(_ inValue: Bool, _ isMutable: Bool) throws -> UInt32 {
        try nested { try $0.mapHere(inValue, isMutable) }
    }

    private mutating func mapHere(_ inValue: Bool, _ isMutable: Bool) throws -> UInt32 {
        let count = try source.length()
        var kinds: Set<Bool> = []
        var keys: [UInt32] = []
        var values: [UInt32] = []
        for _ in 0..<count {
            let start = source.position
            let tag = try source.byte()
            source.seek(to: start)
            let isInteger = tag < 0x80 || tag == Tag.integer || tag == Tag.unsigned
            let isString = tag == Tag.string || (tag >= Tag.firstString && tag <= Tag.lastString)
            if inValue && isInteger {
                // Inside `Codable` values, dictionaries have string keys only.
                var next = source
                let digits = tag == Tag.unsigned ? "\(try next.unsignedValue())" : "\(try next.integerValue())"
                source = next
                keys.append(object(of: try builder.string(digits)))
            } else {
                keys.append(try object(inValue: inValue))
            }
            kinds.insert(isInteger || isString)
            values.append(try object(inValue: inValue))
        }
        guard inValue, kinds.contains(false) else { return try dictionary(keys, values, isMutable) }
        return try array("NSArray", zip(keys, values).flatMap { [$0, $1] }, isMutable)
    }

    private mutating func packed(_ isMutable: Bool) throws -> UInt32 {
        var scratch = ByteSink()
        defer { scratch.deallocate() }
        let count = try source.rewriteElements(Tag.packed, limits, into: &scratch)
        let outer = source
        source = ByteSource(scratch.bytes)
        defer { source = outer }
        return try array("NSArray", try elements(count, true), isMutable)
    }

    /// Writes a non-nil optional as its content; keeps a wrapper only around nil or another optional.
    private mutating func optional(_ inValue: Bool) throws -> UInt32 {
        var next = source
        let tag = try next.byte()
        guard tag == Tag.none || tag == Tag.some || tag == Tag.conditional else { return try object(inValue: inValue) }
        let inner: UInt32
        if tag == Tag.none {
            source = next
            inner = 0
        } else {
            inner = try object(inValue: inValue)
        }
        return try add(FoundationClass.optionalName, [], [("value", try uid(inner))])
    }
}

extension ByteSource {
    /// Consumes a nil if it comes next; returns whether it did.
    mutating func takesNil() throws -> Bool {
        var next = self
        guard try next.byte() == Tag.none else { return false }
        self = next
        return true
    }

    /// Reads a tagged integer of up to 64 bits.
    mutating func integerValue() throws -> Int64 {
        let tag = try byte()
        return tag == Tag.integer ? try zigzag() : Int64(tag)
    }

    mutating func unsignedValue() throws -> UInt64 {
        _ = try byte()
        return try varint()
    }
}
