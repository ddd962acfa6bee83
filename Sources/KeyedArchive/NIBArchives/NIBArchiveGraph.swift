#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// The content of a NIBArchive, the format of compiled nibs and storyboards, without the program's own classes.
///
/// Objects have keys, and a key may occur many times in an object: the elements of an array have the same key, one after the
/// other. So an object is a list of fields here and no dictionary. Object 0 has the archive's top-level values.
///
/// ```swift
/// let graph = try NIBArchiveGraph(bytes)
/// for field in graph.objects[0].fields { print(field.key, field.value) }
/// ```
///
/// Objects are made on demand, and nothing follows references: a graph takes little more memory than three times its file.
public struct NIBArchiveGraph: Sendable {
    let index: NIBArchiveIndex
    /// The version of the coder that wrote the archive, 9 or 10 in all files that are known.
    public let coderVersion: Int

    /// Reads a whole NIBArchive.
    ///
    /// - Parameters:
    ///   - bytes: The archive, which is kept while the graph is in use.
    ///   - limits: Bounds beyond which reading throws: `bytes`, `objects` and `string`, which is for keys and class names.
    /// - Throws: `ArchiveError` if the bytes are no NIBArchive, or exceed the limits. The message names the place:
    ///   `value 7 of 12: expected a key below 5, found 5, at byte 104`.
    /// - Complexity: Linear; the archive is checked once, and objects are made on demand.
    public init(_ bytes: [UInt8], limits: ArchiveLimits = ArchiveLimits()) throws {
        try self.init(ArchiveBytes(bytes), limits)
    }

    /// Reads a whole NIBArchive.
    ///
    /// - Parameters:
    ///   - data: The archive, which is kept while the graph is in use.
    ///   - limits: Bounds beyond which reading throws: `bytes`, `objects` and `string`, which is for keys and class names.
    /// - Throws: `ArchiveError` if the bytes are no NIBArchive, or exceed the limits; the message names the place.
    /// - Complexity: Linear; the archive is checked once, and objects are made on demand.
    public init(_ data: Data, limits: ArchiveLimits = ArchiveLimits()) throws {
        try self.init(ArchiveBytes(data), limits)
    }

    private init(_ bytes: ArchiveBytes, _ limits: ArchiveLimits) throws {
        guard bytes.bytes.count <= min(limits.bytes, NIBArchiveIndex.most) else {
            throw ArchiveError(.limit, "an archive of more than \(min(limits.bytes, NIBArchiveIndex.most)) bytes")
        }
        index = NIBArchiveIndex(bytes)
        var reader = NIBArchiveReader(index, limits: limits)
        try reader.read()
        coderVersion = reader.coder
    }

    /// The objects; references are indices into this collection, and cycles are possible.
    public var objects: NIBArchiveObjects { NIBArchiveObjects(index: index) }

    /// The classes, which objects name by their place.
    public var classes: NIBArchiveClasses { NIBArchiveClasses(index: index) }
}

/// The objects of a NIBArchive.
public struct NIBArchiveObjects: RandomAccessCollection, Sendable {
    let index: NIBArchiveIndex

    /// 0.
    public var startIndex: Int { 0 }

    /// The number of objects.
    public var endIndex: Int { index.objects.count }

    /// The object at an index.
    public subscript(position: Int) -> NIBArchiveObject {
        var source = index.source(at: index.objects[position])
        // The archive was checked when it was opened.
        let type = (try? source.varint()) ?? 0
        let first = (try? source.varint()) ?? 0
        let count = (try? source.varint()) ?? 0
        return NIBArchiveObject(
            classIndex: type, fields: NIBArchiveFields(index: index, positions: first..<first + count))
    }
}

/// An object of a NIBArchive.
public struct NIBArchiveObject: Sendable {
    /// The place of its class in the graph's classes.
    public let classIndex: Int
    /// Its keys and values, in the order in which they were written.
    public let fields: NIBArchiveFields
}

/// The keys and values of an object of a NIBArchive; a key may occur several times.
public struct NIBArchiveFields: RandomAccessCollection, Sendable {
    let index: NIBArchiveIndex
    let positions: Range<Int>

    /// 0.
    public var startIndex: Int { 0 }

    /// The number of values.
    public var endIndex: Int { positions.count }

    /// The field at an index.
    public subscript(position: Int) -> NIBArchiveField {
        precondition(position >= 0 && position < positions.count, "a field that the object does not have")
        var source = index.source(at: index.values[positions.lowerBound + position])
        // The archive was checked when it was opened.
        var key = index.source(at: index.keys[(try? source.varint()) ?? 0])
        let name = (try? key.bytes(limit: Int.max)) ?? 0..<0
        return NIBArchiveField(
            key: ArchivedText(index.bytes, name), value: (try? NIBArchiveValue(&source, index)) ?? .null)
    }
}

/// A key and its value.
public struct NIBArchiveField: Sendable, Hashable {
    /// The key.
    public let key: ArchivedText
    /// The value.
    public let value: NIBArchiveValue
}

/// The classes of a NIBArchive.
public struct NIBArchiveClasses: RandomAccessCollection, Sendable {
    let index: NIBArchiveIndex

    /// 0.
    public var startIndex: Int { 0 }

    /// The number of classes.
    public var endIndex: Int { index.classes.count }

    /// The class at an index.
    ///
    /// - Complexity: Linear in the number of its fallbacks.
    public subscript(position: Int) -> NIBArchiveClass {
        var source = index.source(at: index.classes[position])
        // The archive was checked when it was opened.
        let length = (try? source.varint()) ?? 1
        let count = (try? source.varint()) ?? 0
        let fallbacks = (0..<count).map { _ in Int((try? source.fixed(Int32.self)) ?? 0) }
        let name = source.position..<source.position + length - 1
        return NIBArchiveClass(name: ArchivedText(index.bytes, name), fallbacks: fallbacks)
    }
}

/// A class of a NIBArchive.
public struct NIBArchiveClass: Sendable, Hashable {
    /// Its name.
    public let name: ArchivedText
    /// The places of classes to use where this one is not known, best first.
    public let fallbacks: [Int]
}
