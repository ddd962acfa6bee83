#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Converts an archive in Apple's layout to a compact body, in one pass over the objects reachable from its roots.
///
/// Objects of the user's classes stay objects. Objects of Foundation classes that represent Swift values become values,
/// written at each place that refers to them. A shared object is therefore written several times, up to a bound.
struct AppleReader {
    /// The shape of the objects of a class that have the same keys.
    private struct Variant {
        /// The node numbers of the keys, including the class key.
        let keys: [Int]
        let classPosition: Int
        let shape: UInt16
        /// The names of the keys, if they are written inline.
        let inline: [String]?
    }

    private struct ClassInfo {
        let name: String
        let version: Int
        let foundation: FoundationClass?
        let hints: [String]
        var variants: [Variant] = []
    }

    let layout: KeyedLayout
    let table: PlistTable
    let limits: ArchiveLimits
    let classes: ClassRegistry
    var out = ByteSink(capacity: 4096)
    private var lengths = ByteSink()
    private var shapes: [Shape] = []
    /// The class hints by shape, for shapes whose class has any.
    private var hints: [Int: [String]] = [:]
    /// For each object its number plus one, or 0 while it has none.
    private var numbers: ContiguousArray<UInt32>
    /// The indexes of the objects, in order of their numbers.
    private var queue = ContiguousArray<UInt32>()
    private var infos: [Int: ClassInfo] = [:]
    private var lastClass = -1
    private var lastInfo = ClassInfo(name: "", version: 0, foundation: nil, hints: [])
    /// The Foundation containers that are being written.
    var open: Set<Int> = []
    private var budget: Int
    private let mostBytes: Int
    private var nesting: Nesting
    private var needsFile = false

    private init(_ layout: KeyedLayout, _ classes: ClassRegistry, _ limits: ArchiveLimits) {
        self.layout = layout
        table = layout.table
        self.limits = limits
        self.classes = classes
        numbers = ContiguousArray(repeating: 0, count: layout.objectCount)
        // Shared values are written once for each use: the budget keeps a small archive from becoming a large one.
        budget = (1 << 18) + 16 * table.count
        mostBytes = min(limits.bytes, (16 << 20) + 64 * table.file.count)
        nesting = Nesting(limits, more: 32, bytes: table.file.count)
    }

    /// Converts an archive to what a decoder reads; `needsFile` says whether large data stays in the file.
    static func body(
        of layout: KeyedLayout, classes: ClassRegistry, limits: ArchiveLimits
    ) throws -> (shapes: [Shape], body: [UInt8], hints: [Int: [String]], needsFile: Bool) {
        var reader = AppleReader(layout, classes, limits)
        defer {
            reader.out.deallocate()
            reader.lengths.deallocate()
        }
        let (shapes, body) = try reader.read()
        return (shapes, body, reader.hints, reader.needsFile)
    }

    private mutating func read() throws -> (shapes: [Shape], body: [UInt8]) {
        try roots()
        let valuesEnd = out.count
        var next = 0
        while next < queue.count {
            let start = out.count
            let index = Int(queue[next])
            do { try body(index) } catch { throw ArchiveError.wrapping(error, at: .index(index)) }
            lengths.varint(UInt64(out.count - start))
            next += 1
        }
        var header = ByteSink()
        defer { header.deallocate() }
        header.varint(UInt64(queue.count))
        header.varint(UInt64(valuesEnd))
        let total = header.count + lengths.count + out.count
        let bytes = [UInt8](unsafeUninitializedCapacity: total) { target, initialized in
            let target = UnsafeMutableRawBufferPointer(target)
            var offset = 0
            for part in [header.bytes, lengths.bytes, out.bytes] {
                UnsafeMutableRawBufferPointer(rebasing: target[offset...]).copyMemory(from: part)
                offset += part.count
            }
            initialized = total
        }
        return (shapes, bytes)
    }

    // MARK: Objects

    private mutating func roots() throws {
        let keys = (0..<layout.top.count).map { table.reference(layout.top, $0) }
        let (shape, inline) = try shape(name: "", version: 0, kind: .record, keys: keys)
        out.byte(Tag.record)
        out.fixed(shape)
        if inline != nil { out.varint(UInt64(keys.count)) }
        for index in 0..<keys.count {
            let key = text(keys[index])
            if inline != nil { out.string(key) }
            do { try value(table.value(layout.top, index)) } catch {
                throw ArchiveError.wrapping(error, at: .key(key))
            }
        }
    }

    /// Makes a shape, with inline keys if there are too many shapes or keys.
    private mutating func shape(
        name: String, version: Int, kind: Shape.Kind, keys: [Int]
    ) throws -> (number: UInt16, inline: [String]?) {
        let names = keys.map(text)
        guard Set(names).count == names.count else { throw ArchiveError(.corrupt, "an object with the same key twice") }
        let isMany = keys.count > limits.keys || shapes.count > limits.shapes / 2
        let isSingle = kind == .object && names == ["$single"]
        guard shapes.count < min(limits.shapes, 0xFFFF) else {
            throw ArchiveError(.limit, "more than \(limits.shapes) shapes")
        }
        shapes.append(
            Shape(
                name: name, version: version, kind: kind,
                layout: isSingle ? .single : isMany ? .explicit : .keyed, keys: isSingle || isMany ? [] : names))
        return (UInt16(shapes.count - 1), isMany ? names : nil)
    }

    /// A key's text; unpaired surrogates are replaced.
    private func text(_ key: Int) -> String {
        let node = table.node(key)
        return table.string(node) ?? String(decoding: table.units(node), as: UTF16.self)
    }

    private mutating func body(_ index: Int) throws {
        let entry = table.node(layout.node(index))
        let variant = try variant(entry, layout.classIndex(entry) ?? 0)
        out.fixed(variant.shape)
        if let inline = variant.inline {
            out.varint(UInt64(inline.count))
            var names = inline.makeIterator()
            for position in 0..<entry.count where position != variant.classPosition {
                let name = names.next() ?? ""
                out.string(name)
                do { try value(table.value(entry, position)) } catch {
                    throw ArchiveError.wrapping(error, at: .key(name))
                }
            }
            return
        }
        for position in 0..<entry.count where position != variant.classPosition {
            do { try value(table.value(entry, position)) } catch {
                throw ArchiveError.wrapping(error, at: .key(text(table.reference(entry, position))))
            }
        }
    }

    private mutating func variant(_ entry: PlistNode, _ type: Int) throws -> Variant {
        let info = classInfo(type)
        for variant in info.variants.reversed() where variant.keys.count == entry.count {
            var position = 0
            while position < entry.count, table.reference(entry, position) == variant.keys[position] { position &+= 1 }
            if position == entry.count { return variant }
        }
        var keys = (0..<entry.count).map { table.reference(entry, $0) }
        let all = keys
        guard let position = keys.firstIndex(where: layout.isClassKey) else {
            throw ArchiveError(.corrupt, "an object without class")
        }
        keys.remove(at: position)
        // All records with inline keys share one shape.
        if let known = info.variants.first(where: { $0.inline != nil && info.variants.count > 64 }) {
            return Variant(keys: all, classPosition: position, shape: known.shape, inline: keys.map(text))
        }
        let (shape, inline) = try shape(name: info.name, version: info.version, kind: .object, keys: keys)
        if !info.hints.isEmpty { hints[Int(shape)] = info.hints }
        let variant = Variant(keys: all, classPosition: position, shape: shape, inline: inline)
        lastInfo.variants.append(variant)
        infos[type] = lastInfo
        return variant
    }

    private mutating func classInfo(_ type: Int) -> ClassInfo {
        if type == lastClass { return lastInfo }
        lastClass = type
        if let known = infos[type] {
            lastInfo = known
            return known
        }
        let name = layout.className(type)
        let record = layout.classRecord(type)
        let hints = record.hints ?? []
        lastInfo = ClassInfo(
            name: name, version: record.version, foundation: foundationClass(name, hints), hints: hints)
        infos[type] = lastInfo
        return lastInfo
    }

    /// The Foundation class with this name, or else the first known one among the hints.
    private func foundationClass(_ name: String, _ hints: [String]) -> FoundationClass? {
        for name in [name] + hints {
            // The user may have registered a class under the name of a Foundation class.
            if classes.renamed[name] != nil { return nil }
            if let foundation = FoundationClass.named(name) { return foundation }
            // An allowed class belongs to the user. Classes that only the reading code names are not known yet.
            if classes.allowed[name] != nil { return nil }
        }
        return nil
    }

    // MARK: Values

    /// Charges written values to the budget; throws when it is exceeded.
    @inline(__always)
    mutating func spend(_ count: Int = 1) throws {
        budget -= count
        guard budget >= 0, out.count <= mostBytes else { throw tooMuch() }
    }

    private func tooMuch() -> ArchiveError {
        ArchiveError(.limit, "values shared so often that they would exceed the limit")
    }

    // Nested values recurse. These functions are small to keep their stack frames small.

    /// Enters a level of nesting; `leave` ends it.
    ///
    /// - Returns: Whether the level needs another stack segment.
    @inline(never)
    mutating func enter() throws -> Bool { try nesting.enter() }

    mutating func leave() { nesting.leave() }

    /// The Foundation class of an object; nil for objects of the user's classes.
    mutating func foundationClass(_ index: Int) -> FoundationClass? {
        guard layout.kind(index) == .instance,
            let type = layout.classIndex(table.node(layout.node(index)))
        else { return nil }
        return classInfo(type).foundation
    }

    /// The number of a user's object; the first request queues the object for writing.
    mutating func number(of index: Int) -> UInt32 {
        if numbers[index] == 0 {
            queue.append(UInt32(truncatingIfNeeded: index))
            numbers[index] = UInt32(truncatingIfNeeded: queue.count)
        }
        return numbers[index] - 1
    }

    /// Writes what a UID refers to.
    mutating func reference(_ index: Int) throws {
        switch layout.kind(index) {
        case .value:
            // A plain object may itself be a reference that leads back here.
            let isSegmentFull = try enter()
            defer { leave() }
            if isSegmentFull { return try StackSegment.run { try value(layout.node(index)) } }
            try value(layout.node(index))
        case .classRecord: throw ArchiveError(.corrupt, "a class where an object is expected")
        case .instance:
            if let foundation = foundationClass(index) { return try self.foundation(foundation, index) }
            try spend()
            out.byte(Tag.reference)
            out.varint(UInt64(number(of: index)))
        }
    }

    /// Writes a node of the property list.
    ///
    /// - Parameter isText: Whether the string `$null` means that string rather than nil.
    mutating func value(_ number: Int, isText: Bool = false) throws {
        try spend()
        switch table.marker(number) & 0xF0 {
        case PlistMarker.uid: try reference(try uid(number))
        case PlistMarker.array: try array(number)
        case PlistMarker.dictionary: try dictionary(number)
        default: scalar(number, isText)
        }
    }

    @inline(never)
    private func uid(_ number: Int) throws -> Int {
        guard let index = table.uid(table.node(number)) else {
            throw ArchiveError(.corrupt, "a reference that is too large")
        }
        return Int(index)
    }

    @inline(never)
    private mutating func array(_ number: Int) throws {
        let isSegmentFull = try enter()
        defer { leave() }
        if isSegmentFull { return try StackSegment.run { try elements(number) } }
        try elements(number)
    }

    private mutating func elements(_ number: Int) throws {
        let node = table.node(number)
        out.counted(Tag.list, node.count)
        for index in 0..<node.count { try value(table.reference(node, index)) }
    }

    @inline(never)
    private mutating func dictionary(_ number: Int) throws {
        let isSegmentFull = try enter()
        defer { leave() }
        if isSegmentFull { return try StackSegment.run { try entries(number) } }
        try entries(number)
    }

    private mutating func entries(_ number: Int) throws {
        let node = table.node(number)
        out.counted(Tag.map, node.count)
        for index in 0..<node.count {
            try value(table.reference(node, index), isText: true)
            try value(table.value(node, index))
        }
    }

    @inline(never)
    private mutating func scalar(_ number: Int, _ isText: Bool) {
        let node = table.node(number)
        switch node.kind {
        case .ascii, .utf8:
            if !isText, node.count == 5, table.isString(number, "$null") { return out.byte(Tag.none) }
            string(table.bytes(node))
        case .utf16: out.string(String(decoding: table.units(node), as: UTF16.self))
        case .integer: out.wide(table.integer(node))
        case .isFalse: out.boolean(false)
        case .isTrue: out.boolean(true)
        case .null, .invalid: out.byte(Tag.none)
        case .real:
            if node.count == 4 {
                out.byte(Tag.float)
                out.fixed(UInt32(truncatingIfNeeded: table.unsigned(node.start, 4)))
            } else {
                out.byte(Tag.double)
                out.fixed(table.unsigned(node.start, 8))
            }
        case .date:
            out.byte(Tag.date)
            out.fixed(table.unsigned(node.start, 8))
        case .data: data(node)
        case .uid, .array, .dictionary: break
        }
    }

    private mutating func string(_ bytes: UnsafeRawBufferPointer) {
        out.string(utf8: bytes)
    }

    /// Data of at least this many bytes stays in the file instead of being copied.
    private static let smallestOutside = 16 << 10

    /// Writes bytes, or only their position in the file if there are many.
    mutating func data(_ node: PlistNode) {
        guard node.count >= Self.smallestOutside else {
            out.counted(Tag.bytes, node.count)
            return out.append(table.bytes(node))
        }
        needsFile = true
        out.counted(Tag.outside, node.start)
        out.varint(UInt64(node.count))
    }
}
