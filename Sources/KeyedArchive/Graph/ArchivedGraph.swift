/// Everything in an archive, without the program's own classes: to look into archives of unknown origin, to change
/// them and write them back.
///
/// There is no bound on how deep the graph is; it may have millions of objects in a chain.
public struct ArchivedGraph: Sendable, Equatable {
    /// The objects.
    ///
    /// References are indices into this array; cycles are possible.
    public private(set) var objects: [ArchivedRecord] = []
    /// The values at the top of the archive, by their keys.
    public private(set) var roots: ArchivedRecord
    /// Shapes made here, for records of the same class to share.
    private var shapes: [Shape: Shape] = [:]
    private var recent: Shape?

    /// Makes an empty graph.
    public init() { roots = ArchivedRecord(shape: Self.explicitRoots, ownKeys: [], values: []) }

    init(objects: [ArchivedRecord], roots: ArchivedRecord) {
        self.objects = objects
        self.roots = roots
    }

    private static let explicitRoots = Shape(name: "", version: 0, kind: .record, layout: .explicit, keys: [])

    /// Graphs are equal if they have the same objects in the same order.
    public static func == (a: ArchivedGraph, b: ArchivedGraph) -> Bool {
        a.objects == b.objects && a.roots.keys == b.roots.keys && a.roots.values == b.roots.values
    }

    /// Adds an object.
    ///
    /// - Parameters:
    ///   - className: The name of its class.
    ///   - version: The version of its class.
    ///   - fields: Keys and values; keys are given once each.
    /// - Returns: The index to refer to it by.
    public mutating func add(
        className: String, version: Int = 0, fields: [(key: String, value: ArchivedValue)]
    ) -> Int {
        objects.append(record(.object, className, version, fields))
        return objects.count - 1
    }

    /// Makes a value with keys, to stand inside of another.
    public mutating func record(
        typeName: String, fields: [(key: String, value: ArchivedValue)]
    ) -> ArchivedRecord {
        record(.record, typeName, 0, fields)
    }

    private mutating func record(
        _ kind: Shape.Kind, _ name: String, _ version: Int, _ fields: [(key: String, value: ArchivedValue)]
    ) -> ArchivedRecord {
        let keys = fields.map(\.key)
        if let recent, recent.kind == kind, recent.name == name, recent.version == version, recent.keyNames == keys {
            return ArchivedRecord(shape: recent, values: fields.map(\.value))
        }
        let made = Shape(name: name, version: version, kind: kind, layout: .keyed, keys: keys)
        let shape = shapes[made] ?? made
        shapes[made] = shape
        recent = shape
        return ArchivedRecord(shape: shape, values: fields.map(\.value))
    }

    /// Replaces a value of an object; the object must have the key.
    public mutating func setValue(_ value: ArchivedValue, forKey key: String, of object: Int) throws {
        guard objects.indices.contains(object) else { throw ArchiveError(.misuse, "there is no such object") }
        guard let position = objects[object].keys.firstIndex(of: key) else {
            throw ArchiveError(.missingKey, "the object has no key \(key)")
        }
        objects[object].values[position] = value
    }

    /// Sets a value at the top of the archive.
    public mutating func setRoot(_ value: ArchivedValue, forKey key: String) {
        var keys = roots.keys
        var values = roots.values
        if let position = keys.firstIndex(of: key) {
            values[position] = value
        } else {
            keys.append(key)
            values.append(value)
        }
        roots = ArchivedRecord(shape: Self.explicitRoots, ownKeys: keys, values: values)
    }
}
