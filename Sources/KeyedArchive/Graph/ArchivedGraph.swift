/// The content of an archive in any format, without the program's own classes.
///
/// Use it to inspect archives of unknown origin, change them and write them back. The graph may have any depth, such as
/// a chain of millions of objects: reading, writing, comparing and printing follow no references.
///
/// ```swift
/// var graph = try ArchivedGraph(bytes)
/// for object in graph.objects { print(object.className ?? "a value") }
/// try graph.setValue(.integer(8), forKey: "age", of: 1)
/// let changed = try graph.bytes(format: .binary)
/// ```
public struct ArchivedGraph: Sendable {
    /// The archiver of a graph in Apple's layout, usually `NSKeyedArchiver`; nil in the compact layout.
    ///
    /// In Apple's layout, strings, numbers and classes are objects, and so is nil, at index 0. In the compact layout,
    /// values are stored where they are used. A file in the compact format may have either layout.
    public let archiver: String?
    /// The version of Apple's layout, always 100000 so far; 0 for the compact format.
    public let version: Int
    /// The objects.
    ///
    /// References are indices into this collection; cycles are possible.
    public private(set) var objects: ArchivedObjects
    /// The top-level values, for inspection: large `Data` is lent from the archive.
    package private(set) var lentRoots: ArchivedRecord
    /// The content of `others`, for inspection.
    package private(set) var lentOthers: [ArchivedValue.Pair] = []
    /// Whether `lentRoots` and `lentOthers` may contain lent bytes.
    private var isTopLent = false
    /// Where class records were found or added, by name and version.
    private var classIndexes: [String: Int] = [:]

    /// Makes an empty graph in the compact layout.
    public init() {
        archiver = nil
        version = 0
        objects = ArchivedObjects()
        lentRoots = ArchivedRecord(typeName: "", storedKeys: [], values: [])
    }

    /// Makes a graph in Apple's layout that contains only nil, at index 0.
    ///
    /// - Parameter archiver: The name of the archiver it is for.
    public init(archiver: String) {
        self.archiver = archiver
        version = KeyedLayout.version
        objects = ArchivedObjects(added: [.value(.null)])
        lentRoots = ArchivedRecord(typeName: "", storedKeys: [], values: [])
    }

    /// Makes a graph to show, which may contain what no layout has: repeated keys, and plain values among the objects.
    ///
    /// - Parameter objects: The first one is the root.
    package init(showing objects: [ArchivedObject]) {
        archiver = nil
        version = 0
        self.objects = ArchivedObjects(added: objects)
        lentRoots =
            objects.isEmpty
            ? ArchivedRecord(typeName: "", storedKeys: [], values: [])
            : ArchivedRecord(typeName: "", storedKeys: ["root"], values: [.reference(0)])
    }

    init(_ layout: CompactLayout) {
        archiver = layout.keyed?.archiver
        version = layout.keyed?.version ?? 0
        objects = ArchivedObjects(compact: layout)
        lentRoots = layout.keyed?.roots ?? layout.roots
        lentOthers = layout.keyed?.others ?? []
        findLent()
    }

    init(_ layout: KeyedLayout) {
        archiver = layout.archiver
        version = layout.version
        objects = ArchivedObjects(layout: layout)
        lentRoots = layout.fields(layout.top, excludingClass: false, lends: true)
        for (key, value) in layout.others {
            let text = layout.table.node(key)
            let name = layout.table.string(text) ?? String(decoding: layout.table.units(text), as: UTF16.self)
            lentOthers.append(.init(.string(name), layout.table.value(value, lends: true)))
        }
        findLent()
    }

    private mutating func findLent() {
        isTopLent = lentRoots.values.contains(where: \.mayBeLent) || lentOthers.contains { $0.value.mayBeLent }
    }

    /// The top-level values of the archive, by key.
    public var roots: ArchivedRecord {
        guard isTopLent else { return lentRoots }
        var record = lentRoots
        if objects.compact?.isDeep == true, let copies = try? StackSegment.run({ record.values.map(\.copied) }) {
            record.values = copies
        } else {
            record.values = record.values.map(\.copied)
        }
        return record
    }

    /// Other top-level content of an archive in Apple's format, by key; usually empty.
    public var others: [ArchivedValue.Pair] { isTopLent ? lentOthers.map(\.copied) : lentOthers }

    /// Lists and maps that occur several times in a property list, which `ArchivedValue.shared` names.
    public var sharedValues: ArchivedSharedValues { ArchivedSharedValues(table: objects.layout?.table) }

    // MARK: Changes

    /// Adds an object.
    ///
    /// In Apple's layout, everything but numbers and bytes is an object: add strings, lists and so on first, and refer
    /// to them by index.
    /// - Parameters:
    ///   - className: The name of its class.
    ///   - version: The version of its class.
    ///   - superclasses: In Apple's layout, the names of its superclasses, nearest first; used if the class is new.
    ///   - fields: Keys and values; each key at most once.
    /// - Returns: The index to refer to it by.
    public mutating func add(
        className: String, version: Int = 0, superclasses: [String] = ["NSObject"],
        fields: [(key: String, value: ArchivedValue)]
    ) -> Int {
        let type = archiver == nil ? nil : classRecord(className, version, superclasses)
        return objects.append(
            .instance(
                ArchivedRecord(
                    typeName: className, version: version, classIndex: type,
                    storedKeys: fields.map { StoredKey.escaped($0.key) }, values: fields.map(\.value))))
    }

    /// Adds a value that is referred to like an object, or a class record; only in Apple's layout.
    ///
    /// - Returns: The index to refer to it by.
    /// - Throws: `ArchiveError` in a graph in the compact layout, which has no such objects.
    public mutating func add(_ object: ArchivedObject) throws -> Int {
        if archiver == nil, object.record == nil {
            throw ArchiveError(.misuse, "in the compact format only instances of classes are objects")
        }
        return objects.append(object)
    }

    /// Replaces an object; references to it refer to the new one.
    ///
    /// - Parameters:
    ///   - index: The index of the object.
    ///   - object: The object to put there.
    /// - Throws: `ArchiveError` for an index out of bounds, or an object that the layout does not have.
    public mutating func replace(_ index: Int, with object: ArchivedObject) throws {
        guard objects.indices.contains(index) else { throw ArchiveError(.misuse, "there is no such object") }
        if archiver == nil, object.record == nil {
            throw ArchiveError(.misuse, "in the compact format only instances of classes are objects")
        }
        objects.set(object, at: index)
    }

    /// Makes a value with keys, to use inside another value; only in the compact layout.
    public func record(typeName: String, fields: [(key: String, value: ArchivedValue)]) -> ArchivedRecord {
        ArchivedRecord(
            typeName: typeName, storedKeys: fields.map { StoredKey.escaped($0.key) }, values: fields.map(\.value))
    }

    /// The index of a class record, which is added if there is none.
    private mutating func classRecord(_ name: String, _ version: Int, _ superclasses: [String]) -> Int {
        if let known = classIndexes["\(name) \(version)"], isRecord(known, name, version) { return known }
        let found = objects.indices.first { isRecord($0, name, version) }
        let index = found ?? addClassRecord(name, version, superclasses)
        classIndexes["\(name) \(version)"] = index
        return index
    }

    private func isRecord(_ index: Int, _ name: String, _ version: Int) -> Bool {
        guard case .classRecord(let known) = objects[index] else { return false }
        return known.name == name && known.version == version
    }

    private mutating func addClassRecord(_ name: String, _ version: Int, _ superclasses: [String]) -> Int {
        let others: [ArchivedValue.Pair] =
            version == 0 ? [] : [.init(.string(ArchivedClass.versionKey), .integer(Int64(version)))]
        return objects.append(
            .classRecord(ArchivedClass(name: name, classes: [name] + superclasses, others: others)))
    }

    /// Replaces a value of an object; the object must have the key.
    ///
    /// - Parameters:
    ///   - value: The new value.
    ///   - key: A key that the object has.
    ///   - object: The index of the object.
    /// - Throws: `ArchiveError` for an index out of bounds, or an object that does not have the key.
    public mutating func setValue(_ value: ArchivedValue, forKey key: String, of object: Int) throws {
        guard objects.indices.contains(object) else { throw ArchiveError(.misuse, "there is no such object") }
        guard var record = objects[object].record else {
            throw ArchiveError(.misuse, "the object has no keys")
        }
        let stored = StoredKey.escaped(key)
        guard let position = record.storedKeys.firstIndex(of: stored) ?? record.storedKeys.firstIndex(of: key) else {
            throw ArchiveError(.missingKey, "the object has no key \(key)")
        }
        record.values[position] = value
        objects.set(.instance(record), at: object)
    }

    /// Sets a top-level value of the archive.
    public mutating func setRoot(_ value: ArchivedValue, forKey key: String) {
        let stored = StoredKey.escaped(key)
        if let position = lentRoots.storedKeys.firstIndex(of: stored) {
            lentRoots.values[position] = value
        } else {
            lentRoots.storedKeys.append(stored)
            lentRoots.values.append(value)
        }
    }

    /// Replaces all top-level values; the keys are in their stored form.
    package mutating func setRoots(_ record: ArchivedRecord) { lentRoots = record }
}
