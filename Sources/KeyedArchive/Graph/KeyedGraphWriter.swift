#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Writes a graph of Apple's layout as a binary property list.
///
/// Unchanged content is copied node by node and keeps its sharing.
struct KeyedGraphWriter {
    private var builder: PlistBuilder
    private let graph: ArchivedGraph
    private let table: PlistTable?
    /// For each node of the file the number of its copy plus one, or 0 while there is none.
    private var copies: ContiguousArray<UInt32>
    private var nesting: Nesting
    private let limits: ArchiveLimits

    private init(_ graph: ArchivedGraph, _ limits: ArchiveLimits) {
        self.graph = graph
        self.limits = limits
        table = graph.objects.layout?.table
        copies = ContiguousArray(repeating: 0, count: table?.count ?? 0)
        builder = PlistBuilder(limits: limits)
        nesting = GraphReader.nesting(limits, bytes: nil)
    }

    static func write(_ graph: ArchivedGraph, limits: ArchiveLimits) throws -> ArchivePieces {
        var writer = KeyedGraphWriter(graph, limits)
        defer { writer.builder.deallocate() }
        return try writer.write()
    }

    private mutating func write() throws -> ArchivePieces {
        var objects = ContiguousArray<UInt32>()
        objects.reserveCapacity(graph.objects.count)
        for index in graph.objects.indices {
            do { objects.append(try object(index)) } catch { throw ArchiveError.wrapping(error, at: .index(index)) }
        }
        var keys = [
            try builder.string("$archiver"), try builder.string("$objects"), try builder.string("$top"),
            try builder.string("$version"),
        ]
        var values = [
            try builder.string(graph.archiver ?? KeyedLayout.archiver), try builder.array(objects),
            try record(graph.lentRoots), try builder.integer(Int64(graph.version)),
        ]
        for pair in graph.lentOthers {
            keys.append(try key(pair.key))
            values.append(try value(pair.value))
        }
        let top = try builder.dictionary(keys, values)
        return try builder.finish(top: top)
    }

    private mutating func object(_ index: Int) throws -> UInt32 {
        if graph.objects.isStored(index), let layout = graph.objects.layout { return try copy(layout.node(index)) }
        switch graph.objects.lent(index) {
        case .value(let value): return try self.value(value)
        case .instance(let record):
            guard let type = record.classIndex, graph.objects.indices.contains(type),
                case .classRecord = graph.objects[type]
            else { throw ArchiveError(.misuse, "an object without class record") }
            return try self.record(record, with: type)
        case .classRecord(let type): return try classRecord(type)
        }
    }

    private mutating func classRecord(_ type: ArchivedClass) throws -> UInt32 {
        var keys = [try builder.string("$classname")]
        var values = [try builder.string(type.name)]
        for (name, list) in [("$classes", type.classes), ("$classhints", type.hints)] {
            guard let list else { continue }
            var names: [UInt32] = []
            for name in list { names.append(try builder.string(name)) }
            keys.append(try builder.string(name))
            values.append(try builder.array(names))
        }
        for pair in type.others {
            keys.append(try key(pair.key))
            values.append(try value(pair.value))
        }
        return try builder.dictionary(keys, values)
    }

    private mutating func record(_ record: ArchivedRecord, with type: Int? = nil) throws -> UInt32 {
        guard record.storedKeys.count == record.values.count else {
            throw ArchiveError(.misuse, "a record with different counts of keys and values")
        }
        var keys: [UInt32] = []
        var values: [UInt32] = []
        for (key, value) in zip(record.storedKeys, record.values) {
            keys.append(try builder.string(key))
            values.append(try self.value(value))
        }
        if let type {
            keys.append(try builder.string("$class"))
            values.append(try builder.uid(UInt64(type)))
        }
        return try builder.dictionary(keys, values)
    }

    // MARK: Values

    private mutating func key(_ key: ArchivedValue) throws -> UInt32 {
        switch key {
        case .string(let text): return try builder.string(text)
        case .brokenString(let units): return try builder.utf16(units)
        default: throw ArchiveError(.misuse, "a map key that is not a string, in Apple's format")
        }
    }

    private mutating func value(_ value: ArchivedValue) throws -> UInt32 {
        switch value {
        case .list(let elements): return try list(elements)
        case .map(let pairs): return try map(pairs)
        default: return try leaf(value)
        }
    }

    private mutating func list(_ elements: [ArchivedValue]) throws -> UInt32 {
        let isSegmentFull = try nesting.enter()
        defer { nesting.leave() }
        if isSegmentFull { return try StackSegment.run { try listHere(elements) } }
        return try listHere(elements)
    }

    private mutating func listHere(_ elements: [ArchivedValue]) throws -> UInt32 {
        var numbers: [UInt32] = []
        for element in elements { numbers.append(try self.value(element)) }
        return try builder.array(numbers)
    }

    private mutating func map(_ pairs: [ArchivedValue.Pair]) throws -> UInt32 {
        let isSegmentFull = try nesting.enter()
        defer { nesting.leave() }
        if isSegmentFull { return try StackSegment.run { try mapHere(pairs) } }
        return try mapHere(pairs)
    }

    private mutating func mapHere(_ pairs: [ArchivedValue.Pair]) throws -> UInt32 {
        var keys: [UInt32] = []
        var values: [UInt32] = []
        for pair in pairs {
            keys.append(try key(pair.key))
            values.append(try self.value(pair.value))
        }
        return try builder.dictionary(keys, values)
    }

    private mutating func leaf(_ value: ArchivedValue) throws -> UInt32 {
        switch value {
        case .null: return try builder.string("$null")
        case .bool(let value): return try builder.bool(value)
        case .integer(let value): return try builder.integer(value)
        case .unsigned(let value): return try builder.integer(wide: Int128(value))
        case .wide(let value): return try builder.integer(wide: value)
        case .float(let bits): return try builder.float(bits: bits)
        case .double(let bits): return try builder.double(bits: bits)
        case .date(let bits): return try builder.date(bits: bits)
        case .string(let value): return try builder.string(value)
        case .brokenString(let units): return try builder.utf16(units)
        case .data(let data): return try builder.data(data)
        case .reference(let number):
            guard graph.objects.indices.contains(number) else {
                throw ArchiveError(.misuse, "a reference to an object that is not in the graph")
            }
            return try builder.uid(UInt64(number))
        case .shared(let number):
            guard let table, table.shared.indices.contains(number) else {
                throw ArchiveError(.misuse, "a shared value that is not in the graph")
            }
            return try copy(table.shared[number])
        case .present, .unsignedWide, .uuid, .url, .decimal, .set, .scalars, .record, .list, .map:
            throw ArchiveError(.unsupported, "a value that Apple's format cannot hold")
        }
    }

    // MARK: Copies

    /// Copies a node of the file with its content, without recursion.
    private mutating func copy(_ number: Int) throws -> UInt32 {
        guard let table else { throw ArchiveError(.misuse, "a value that is not in the graph") }
        if copies[number] != 0 { return copies[number] - 1 }
        guard table.node(number).isContainer else { return try copy(scalar: number, table) }
        var path: [(number: Int, next: Int)] = [(number, 0)]
        var references: [UInt32] = []
        walk: while var last = path.last {
            let node = table.node(last.number)
            let count = node.kind == .array ? node.count : 2 * node.count
            while last.next < count {
                let target = table.reference(node, last.next)
                last.next += 1
                guard copies[target] == 0 else { continue }
                if table.node(target).isContainer {
                    path[path.count - 1] = last
                    path.append((target, 0))
                    continue walk
                }
                _ = try copy(scalar: target, table)
            }
            references.removeAll(keepingCapacity: true)
            for index in 0..<count { references.append(copies[table.reference(node, index)] - 1) }
            let made =
                node.kind == .array
                ? try builder.array(references)
                : try builder.dictionary(references[..<node.count], references[node.count...])
            copies[last.number] = made + 1
            path.removeLast()
        }
        return copies[number] - 1
    }

    private mutating func copy(scalar number: Int, _ table: PlistTable) throws -> UInt32 {
        let node = table.node(number)
        let made: UInt32
        switch node.kind {
        // `$null` means nil here, so nil is written as itself.
        case .null, .invalid: made = try builder.string("$null")
        case .isFalse: made = try builder.bool(false)
        case .isTrue: made = try builder.bool(true)
        case .integer: made = try builder.integer(wide: table.integer(node))
        case .real:
            let bits = table.unsigned(node.start, node.count)
            made =
                node.count == 4
                ? try builder.float(bits: UInt32(truncatingIfNeeded: bits)) : try builder.double(bits: bits)
        case .date: made = try builder.date(bits: table.unsigned(node.start, 8))
        case .data: made = try builder.data(table.bytes(node), owner: table.owner)
        case .ascii: made = try builder.ascii(table.bytes(node))
        case .utf8: made = try builder.string(utf8: table.bytes(node))
        case .utf16: made = try builder.utf16(table.units(node))
        case .uid: made = try builder.uid(table.uid(node) ?? .max)
        case .array, .dictionary: return try copy(number)
        }
        copies[number] = made + 1
        return made
    }
}
