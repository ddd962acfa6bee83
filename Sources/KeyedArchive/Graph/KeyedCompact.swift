#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// How the compact format stores a graph in Apple's layout without loss.
///
/// The top-level record has the key `$archiver`, which cannot be a user's key. All entries of the list of objects,
/// including classes and plain values, are objects of the archive under the same numbers:
///
///     plain value     an object that is a single value
///     class           an object whose first key is $classname
///     instance        an object whose first key, $class, refers to its class; its shape has the name and version of that
enum KeyedCompact {
    /// The kind of an object in such an archive.
    enum Kind: UInt8 {
        case value
        case instance
        case classRecord
    }

    /// The content of the record at the top.
    struct Top {
        let archiver: String
        let version: Int
        let roots: ArchivedRecord
        let others: [ArchivedValue.Pair]
    }

    static let archiverKey = "$archiver"
    private static let versionKey = "$version"
    private static let topKey = "$top"
    private static let othersKey = "$others"
    private static let classKey = "$class"
    private static let nameKey = "$classname"
    private static let classesKey = "$classes"
    private static let hintsKey = "$classhints"

    // MARK: Writing

    /// The record at the top of the archive.
    ///
    /// - Parameter count: The number of the graph's objects; its shared lists and maps come after them.
    static func top(of graph: ArchivedGraph, count: Int) -> ArchivedRecord {
        var keys = [archiverKey, versionKey, topKey]
        var values: [ArchivedValue] = [
            .string(graph.archiver ?? KeyedLayout.archiver), .integer(Int64(graph.version)),
            .record(
                ArchivedRecord(
                    typeName: "", storedKeys: graph.roots.storedKeys,
                    values: graph.roots.values.map { stored($0, count) })),
        ]
        if !graph.others.isEmpty {
            keys.append(othersKey)
            values.append(stored(.map(graph.others), count))
        }
        return ArchivedRecord(typeName: "", storedKeys: keys, values: values)
    }

    /// The record to write for an object.
    static func record(of object: ArchivedObject, in graph: ArchivedGraph, count: Int) throws -> ArchivedRecord {
        switch object {
        case .value(let value): return single(stored(value, count))
        case .instance(let record):
            guard let type = record.classIndex, graph.objects.indices.contains(type) else {
                throw ArchiveError(.misuse, "an object without class record")
            }
            return ArchivedRecord(
                typeName: record.typeName, version: record.version, storedKeys: [classKey] + record.storedKeys,
                values: [.reference(type)] + record.values.map { stored($0, count) })
        case .classRecord(let type):
            var keys = [nameKey]
            var values: [ArchivedValue] = [.string(type.name)]
            for (key, names) in [(classesKey, type.classes), (hintsKey, type.hints)] {
                guard let names else { continue }
                keys.append(key)
                values.append(.list(names.map { .string($0) }))
            }
            if !type.others.isEmpty {
                keys.append(othersKey)
                values.append(stored(.map(type.others), count))
            }
            return ArchivedRecord(typeName: "", storedKeys: keys, values: values)
        }
    }

    /// The record to write for a shared list or map, which becomes an object.
    static func record(ofShared value: ArchivedValue, count: Int) -> ArchivedRecord { single(stored(value, count)) }

    private static func single(_ value: ArchivedValue) -> ArchivedRecord {
        ArchivedRecord(typeName: "", storedKeys: [], values: [value])
    }

    private static func stored(_ value: ArchivedValue, _ count: Int) -> ArchivedValue {
        switch value {
        case .shared(let number): .reference(count + number)
        case .brokenString(let units):
            .scalars(.init(kind: .uint16, bytes: units.map(\.littleEndian).withUnsafeBytes { Data($0) }))
        case .list(let values): .list(values.map { stored($0, count) })
        case .map(let pairs): .map(pairs.map { .init(stored($0.key, count), stored($0.value, count)) })
        default: value
        }
    }

    // MARK: Reading

    /// Whether an archive with that record at the top has Apple's layout.
    static func isTop(_ record: ArchivedRecord) -> Bool { record.storedKeys.first == archiverKey }

    /// The content of the top-level record; nil if the archive has the compact layout.
    ///
    /// - Throws: `ArchiveError` if the record is incomplete.
    static func top(_ record: ArchivedRecord) throws -> Top? {
        guard isTop(record) else { return nil }
        func value(_ key: String) -> ArchivedValue? {
            record.storedKeys.firstIndex(of: key).map { record.values[$0] }
        }
        guard case .string(let archiver)? = value(archiverKey), case .integer(let version)? = value(versionKey),
            case .record(let roots)? = value(topKey)
        else { throw ArchiveError(.corrupt, "an archive in Apple's layout without $archiver, $version or $top") }
        return Top(
            archiver: archiver, version: Int(version),
            roots: ArchivedRecord(typeName: "", storedKeys: roots.storedKeys, values: roots.values.map(restored)),
            others: pairs(value(othersKey)))
    }

    /// The kind of an object with a shape.
    ///
    /// - Parameter body: The object's content, behind the shape's number.
    static func kind(_ shape: Shape, _ body: ByteSource, _ limits: ArchiveLimits) throws -> Kind {
        if shape.layout == .single { return .value }
        var body = body
        if shape.layout == .explicit { _ = try body.length() }
        let first = shape.layout == .keyed ? shape.keyNames.first : try body.stringValue(limits)
        switch first {
        case nameKey?:
            guard isString(try body.byte()) else { throw ArchiveError(.corrupt, "a class whose name is not a string") }
            return .classRecord
        case classKey?: return .instance
        default: throw ArchiveError(.corrupt, "an object that is neither a value nor a class nor of a class")
        }
    }

    private static func isString(_ tag: UInt8) -> Bool {
        tag == Tag.string || (tag >= Tag.firstString && tag <= Tag.lastString)
    }

    /// The number of the class record an instance refers to.
    static func classIndex(_ shape: Shape, _ body: ByteSource, _ limits: ArchiveLimits) throws -> Int {
        var body = body
        if shape.layout == .explicit {
            _ = try body.length()
            _ = try body.stringValue(limits)
        }
        guard try body.byte() == Tag.reference, let index = Int(exactly: try body.varint()) else {
            throw ArchiveError(.corrupt, "an object whose class is not a reference")
        }
        return index
    }

    /// The graph's object for a record.
    static func object(_ record: ArchivedRecord) -> ArchivedObject {
        guard let first = record.storedKeys.first else { return .value(restored(record.values.first ?? .null)) }
        guard first == classKey, case .reference(let type)? = record.values.first else {
            return .classRecord(classRecord(record))
        }
        return .instance(
            ArchivedRecord(
                typeName: record.typeName, version: record.version, classIndex: type,
                storedKeys: Array(record.storedKeys.dropFirst()), values: record.values.dropFirst().map(restored)))
    }

    private static func classRecord(_ record: ArchivedRecord) -> ArchivedClass {
        var type = ArchivedClass(name: "")
        for (key, value) in zip(record.storedKeys, record.values) {
            switch (key, value) {
            case (nameKey, .string(let name)): type.name = name
            case (classesKey, _): type.classes = names(value)
            case (hintsKey, _): type.hints = names(value)
            case (othersKey, _): type.others = pairs(value)
            default: break
            }
        }
        return type
    }

    private static func names(_ value: ArchivedValue) -> [String]? {
        guard case .list(let values) = value else { return nil }
        return values.compactMap { if case .string(let name) = $0 { name } else { nil } }
    }

    private static func pairs(_ value: ArchivedValue?) -> [ArchivedValue.Pair] {
        guard case .map(let pairs)? = value.map(restored) else { return [] }
        return pairs
    }

    private static func restored(_ value: ArchivedValue) -> ArchivedValue {
        switch value {
        case .scalars(let scalars) where scalars.kind == .uint16:
            .brokenString(
                scalars.bytes.withUnsafeBytes { bytes in
                    (0..<scalars.count).map {
                        UInt16(littleEndian: bytes.loadUnaligned(fromByteOffset: 2 * $0, as: UInt16.self))
                    }
                })
        case .list(let values): .list(values.map(restored))
        case .map(let pairs): .map(pairs.map { .init(restored($0.key), restored($0.value)) })
        default: value
        }
    }
}
