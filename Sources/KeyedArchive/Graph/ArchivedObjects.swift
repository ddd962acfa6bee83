/// The objects of a graph, in the order of the archive.
///
/// Unchanged objects are read from the file on each access: an archive that is only inspected takes little more memory
/// than its file.
public struct ArchivedObjects: RandomAccessCollection, Sendable {
    /// The file, if it has Apple's layout.
    let layout: KeyedLayout?
    /// The file, if it is in the compact format.
    let compact: CompactLayout?
    /// Changed objects, by index.
    private(set) var changed: [Int: ArchivedObject] = [:]
    /// Objects added after those of the file.
    private(set) var added: [ArchivedObject] = []

    init(layout: KeyedLayout? = nil, compact: CompactLayout? = nil, added: [ArchivedObject] = []) {
        self.layout = layout
        self.compact = compact
        self.added = added
    }

    /// 0.
    public var startIndex: Int { 0 }

    /// The number of objects.
    public var endIndex: Int { storedCount + added.count }

    var storedCount: Int { layout?.objectCount ?? compact?.objectCount ?? 0 }

    /// The object at an index.
    ///
    /// - Complexity: The size of the object.
    public subscript(position: Int) -> ArchivedObject { object(position, lends: false) }

    /// The object at an index, for inspection: its bytes are not copied and must not reach users.
    package func lent(_ position: Int) -> ArchivedObject { object(position, lends: true) }

    private func object(_ position: Int, lends: Bool) -> ArchivedObject {
        precondition(position >= 0 && position < endIndex, "an index that is not in the graph")
        let stored = storedCount
        if position >= stored { return added[position - stored] }
        if !changed.isEmpty, let object = changed[position] { return object }
        // There are stored objects, so there is a layout.
        return layout?.object(position, lends: lends) ?? compact?.object(position, lends: lends) ?? .value(.null)
    }

    /// Whether an object is unchanged since it was read.
    func isStored(_ position: Int) -> Bool { position < storedCount && changed[position] == nil }

    mutating func set(_ object: ArchivedObject, at position: Int) {
        if position >= storedCount { added[position - storedCount] = object } else { changed[position] = object }
    }

    mutating func append(_ object: ArchivedObject) -> Int {
        added.append(object)
        return endIndex - 1
    }
}

/// The lists and maps of a graph that occur several times or are nested very deep.
public struct ArchivedSharedValues: RandomAccessCollection, Sendable {
    let table: PlistTable?

    /// 0.
    public var startIndex: Int { 0 }

    /// Their number.
    public var endIndex: Int { table?.shared.count ?? 0 }

    /// The value at an index; shared values inside it are numbers, too.
    public subscript(position: Int) -> ArchivedValue { value(position, lends: false) }

    /// The value at an index, for inspection: its bytes are not copied and must not reach users.
    package func lent(_ position: Int) -> ArchivedValue { value(position, lends: true) }

    private func value(_ position: Int, lends: Bool) -> ArchivedValue {
        precondition(position >= 0 && position < endIndex, "an index that is not in the graph")
        guard let table else { return .null }
        return table.container(table.node(table.shared[position]), lends: lends)
    }
}
