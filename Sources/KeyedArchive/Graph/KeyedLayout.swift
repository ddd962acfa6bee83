import Synchronization

/// A property list that is one of Apple's keyed archives, and where its objects are.
///
///     {
///         "$archiver": "NSKeyedArchiver", "$version": 100000,
///         "$top": {"root": UID 1},
///         "$objects": ["$null", {"$class": UID 2, "name": UID 3}, {"$classname": "Foo", "$classes": [...]}, "Juliana"]
///     }
///
/// After `init` every UID names one of the objects and every instance a class record.
// Immutable after `init`, except for `types`, which has a lock.
final class KeyedLayout: @unchecked Sendable {
    enum Kind: UInt8 {
        case value
        case instance
        case classRecord
    }

    static let archiver = "NSKeyedArchiver"
    static let version = 100_000

    let table: PlistTable
    let archiver: String
    let version: Int
    let objectCount: Int
    /// The node that is `$top`.
    let top: PlistNode
    /// Keys and values other than those of the format, as node numbers.
    let others: [(key: Int, value: Int)]
    private let objects: PlistNode
    /// The class names of instances by the index of the class record, filled on demand.
    private let types = Mutex<[Int: (name: String, version: Int)]>([:])
    private let kinds: UnsafeMutablePointer<Kind>

    init(_ table: PlistTable, limits: ArchiveLimits, anyArchiver: Bool) throws {
        self.table = table
        let whole = table.node(table.top)
        guard whole.kind == .dictionary else { throw Self.noArchive("it is not a dictionary") }
        var found: (archiver: PlistNode, version: PlistNode, top: PlistNode, objects: PlistNode) =
            (.invalid, .invalid, .invalid, .invalid)
        var others: [(key: Int, value: Int)] = []
        for index in 0..<whole.count {
            let key = table.reference(whole, index)
            let number = table.value(whole, index)
            let value = table.node(number)
            if table.isString(key, "$archiver") {
                found.archiver = value
            } else if table.isString(key, "$version") {
                found.version = value
            } else if table.isString(key, "$top") {
                found.top = value
            } else if table.isString(key, "$objects") {
                // References to the list are references to the objects in it, which occur once each.
                guard table.sharedNumbers[number] == nil else {
                    throw ArchiveError(.corrupt, "a list of objects that occurs several times")
                }
                found.objects = value
            } else {
                others.append((key, number))
            }
        }
        guard found.objects.kind == .array else { throw Self.noArchive("it has no list $objects") }
        guard found.top.kind == .dictionary else { throw Self.noArchive("it has no dictionary $top") }
        guard found.archiver.isString, let archiver = table.string(found.archiver) else {
            throw Self.noArchive("it has no $archiver")
        }
        guard found.version.kind == .integer, let version = Int(exactly: table.integer(found.version)) else {
            throw Self.noArchive("it has no $version")
        }
        if !anyArchiver { try Self.check(archiver: archiver) }
        guard found.objects.count <= limits.objects else {
            throw ArchiveError(.limit, "more than \(limits.objects) objects")
        }
        self.archiver = archiver
        self.version = version
        self.others = others
        top = found.top
        objects = found.objects
        objectCount = objects.count
        kinds = .allocate(capacity: max(objectCount, 1))
        kinds.initialize(repeating: .value, count: objectCount)
        try checkObjects()
        try checkReferences()
    }

    deinit { kinds.deallocate() }

    /// Checks that an archive is one with keys.
    static func check(archiver: String) throws {
        guard archiver != Self.archiver else { return }
        throw ArchiveError(
            .unsupported,
            archiver == "NSArchiver"
                ? "a sequential archive, which only an NSCodingSequentialUnarchiver opens"
                : "an archive of the archiver \(archiver), not \(Self.archiver)")
    }

    private static func noArchive(_ why: String) -> ArchiveError {
        ArchiveError(.corrupt, "a property list, but not a keyed archive: \(why)")
    }

    private func checkObjects() throws {
        for index in 0..<objectCount {
            let number = node(index)
            let entry = table.node(number)
            guard entry.isContainer else { continue }
            if !table.sharedNumbers.isEmpty, table.sharedNumbers[number] != nil {
                throw corrupt(index, "an object that occurs several times")
            }
            guard entry.kind == .dictionary else { continue }
            kinds[index] = try kind(entry, index)
        }
        for index in 0..<objectCount where kinds[index] == .instance {
            guard let type = classIndex(table.node(node(index))), kinds[type] == .classRecord else {
                throw corrupt(index, "an object whose class is not a class record")
            }
        }
    }

    private func kind(_ entry: PlistNode, _ index: Int) throws -> Kind {
        for position in 0..<entry.count {
            let key = table.reference(entry, position)
            let content = table.node(key)
            guard content.isString, content.count == 6 || content.count == 10 else { continue }
            if table.isString(key, "$class") {
                guard table.node(table.value(entry, position)).kind == .uid else {
                    throw corrupt(index, "an object whose class is not a reference")
                }
                return .instance
            }
            if table.isString(key, "$classname") {
                guard table.node(table.value(entry, position)).isString else {
                    throw corrupt(index, "a class whose name is not a string")
                }
                return .classRecord
            }
        }
        return .value
    }

    private func corrupt(_ index: Int, _ what: String) -> ArchiveError {
        var error = ArchiveError(.corrupt, what)
        error.prepend(.index(index))
        return error
    }

    private func checkReferences() throws {
        for number in 0..<table.count where table.marker(number) & 0xF0 == PlistMarker.uid {
            guard let uid = table.uid(table.node(number)), uid < UInt64(objectCount) else {
                throw ArchiveError(.corrupt, "a reference to an object that is not in the archive")
            }
        }
    }

    // MARK: Objects

    /// The node number of an object.
    @inline(__always)
    func node(_ index: Int) -> Int { table.reference(objects, index) }

    @inline(__always)
    func kind(_ index: Int) -> Kind { kinds[index] }

    /// The index of an instance's class record.
    @inline(__always)
    func classIndex(_ entry: PlistNode) -> Int? {
        for position in 0..<entry.count where isClassKey(table.reference(entry, position)) {
            let value = table.node(table.value(entry, position))
            guard value.kind == .uid, let uid = table.uid(value), uid < UInt64(objectCount) else { return nil }
            return Int(uid)
        }
        return nil
    }

    @inline(__always)
    func isClassKey(_ number: Int) -> Bool {
        let node = table.node(number)
        return node.isString && node.count == 6 && table.isString(number, "$class")
    }

    /// The name in a class record.
    func className(_ index: Int) -> String {
        let entry = table.node(node(index))
        for position in 0..<entry.count where table.isString(table.reference(entry, position), "$classname") {
            return table.string(table.node(table.value(entry, position))) ?? ""
        }
        return ""
    }

    /// The name and version in a class record; cached, as the record may be long and have many instances.
    private func type(_ index: Int) -> (name: String, version: Int) {
        types.withLock { types in
            if let known = types[index] { return known }
            let record = classRecord(index)
            types[index] = (record.name, record.version)
            return (record.name, record.version)
        }
    }

    /// Reads an object of the property list.
    ///
    /// - Parameter lends: Whether `Data` is lent; see `Data.init(lending:owner:)`.
    func object(_ index: Int, lends: Bool) -> ArchivedObject {
        let number = node(index)
        let entry = table.node(number)
        switch kinds[index] {
        case .value: return .value(table.value(number, lends: lends))
        case .instance:
            let type = classIndex(entry)
            var record = fields(entry, excludingClass: true, lends: lends)
            record.classIndex = type
            if let type { (record.typeName, record.version) = self.type(type) }
            return .instance(record)
        case .classRecord: return .classRecord(classRecord(index, lends: lends))
        }
    }

    /// Keys and values of a dictionary.
    func fields(_ entry: PlistNode, excludingClass: Bool, lends: Bool) -> ArchivedRecord {
        var keys: [String] = []
        var values: [ArchivedValue] = []
        keys.reserveCapacity(entry.count)
        values.reserveCapacity(entry.count)
        var isClassMet = !excludingClass
        for position in 0..<entry.count {
            let key = table.reference(entry, position)
            if !isClassMet, isClassKey(key) {
                isClassMet = true
                continue
            }
            let text = table.node(key)
            keys.append(table.string(text) ?? String(decoding: table.units(text), as: UTF16.self))
            values.append(table.value(table.value(entry, position), lends: lends))
        }
        return ArchivedRecord(typeName: "", storedKeys: keys, values: values)
    }

    func classRecord(_ index: Int, lends: Bool = false) -> ArchivedClass {
        let entry = table.node(node(index))
        var result = ArchivedClass(name: className(index))
        var isNameMet = false
        for position in 0..<entry.count {
            let key = table.reference(entry, position)
            let value = table.value(entry, position)
            if !isNameMet, table.isString(key, "$classname") {
                isNameMet = true
            } else if result.classes == nil, table.isString(key, "$classes"), let names = names(value) {
                result.classes = names
            } else if result.hints == nil, table.isString(key, "$classhints"), let names = names(value) {
                result.hints = names
            } else {
                let text = table.node(key)
                let name = table.string(text).map { ArchivedValue.string($0) } ?? .brokenString(table.units(text))
                result.others.append(.init(name, table.value(value, lends: lends)))
            }
        }
        return result
    }

    private func names(_ number: Int) -> [String]? {
        let list = table.node(number)
        guard list.kind == .array else { return nil }
        var names: [String] = []
        names.reserveCapacity(min(list.count, 64))
        for index in 0..<list.count {
            let name = table.node(table.reference(list, index))
            // `$null` means nil everywhere, and is not a name.
            guard name.isString, let text = table.string(name), text != "$null" else { return nil }
            names.append(text)
        }
        return names
    }
}
