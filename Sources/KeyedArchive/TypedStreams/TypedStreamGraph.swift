#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// The content of a typedstream, the format of Apple's `NSArchiver`, without the program's own classes.
///
/// A typedstream has no keys. It is a sequence of groups of values, each with its types; an object is a class and such
/// groups. Objects, classes and C strings have numbers, their labels, by which other places refer to them.
///
/// ```swift
/// let graph = try TypedStreamGraph(bytes)
/// for group in graph.groups {
///     for case .label(let label) in group.values {
///         if case .object(let object) = graph.labels[label] { print(object.classLabel ?? "an object of no class") }
///     }
/// }
/// ```
///
/// Unlike in ``ArchivedGraph`` the order of values, the widths of numbers, the classes with a version each and the strings
/// that places share are all kept, so that the same bytes can be written again. Objects are made on demand: a graph takes
/// little more memory than three or four times its file. Nothing follows references, so the graph may have any depth.
public struct TypedStreamGraph: Sendable {
    let index: TypedStreamIndex
    /// The place of the first group.
    private let firstGroup: Int
    let systemNumber: TypedStreamNumber

    /// Reads a whole typedstream.
    ///
    /// - Parameters:
    ///   - bytes: The archive, which is kept while the graph is in use.
    ///   - limits: Bounds beyond which reading throws: `bytes`, `objects` (with classes and C strings), `string` and
    ///     `collection`.
    /// - Throws: `ArchiveError` if the bytes are no typedstream, or exceed the limits. The message names the place:
    ///   `$3 of NSMenuItem #8: expected an object, found the label 12, which is a class, at byte 512`.
    /// - Complexity: Linear; the archive is checked once, and objects are made on demand.
    public init(_ bytes: [UInt8], limits: ArchiveLimits = ArchiveLimits()) throws {
        try self.init(ArchiveBytes(bytes), limits)
    }

    /// Reads a whole typedstream.
    ///
    /// - Parameters:
    ///   - data: The archive, which is kept while the graph is in use.
    ///   - limits: Bounds beyond which reading throws: `bytes`, `objects` (with classes and C strings), `string` and
    ///     `collection`.
    /// - Throws: `ArchiveError` if the bytes are no typedstream, or exceed the limits; the message names the place.
    /// - Complexity: Linear; the archive is checked once, and objects are made on demand.
    public init(_ data: Data, limits: ArchiveLimits = ArchiveLimits()) throws {
        try self.init(ArchiveBytes(data), limits)
    }

    private init(_ bytes: ArchiveBytes, _ limits: ArchiveLimits) throws {
        guard bytes.bytes.count <= min(limits.bytes, TypedStreamIndex.most) else {
            throw ArchiveError(.limit, "an archive of more than \(min(limits.bytes, TypedStreamIndex.most)) bytes")
        }
        let (header, rest) = try TypedStreamHeader.read(bytes.bytes)
        var source = TypedStreamSource(rest, isBigEndian: header.isBigEndian)
        do { systemNumber = try source.number("the version of the system") } catch let error as ArchiveError {
            throw ArchiveError(error.code, "\(error.message), at byte \(source.position)")
        }
        firstGroup = source.position
        isBigEndian = header.isBigEndian
        index = TypedStreamIndex(bytes, isBigEndian: isBigEndian)
        var reader = TypedStreamReader(index, .opening, at: firstGroup, limits: limits)
        while try reader.next() != nil {}
    }

    /// Whether the numbers of the file are big-endian; those that this struct returns do not depend on it.
    public let isBigEndian: Bool

    /// The version of the archiver's system: 1000 for OPENSTEP and Mac OS X, 930 for NEXTSTEP 3.
    public var systemVersion: Int { Int(systemNumber.value) }

    /// The number of bytes in the file.
    public var byteCount: Int { index.bytes.bytes.count }

    /// The groups that belong to no object: one with the root object in most archives, but there may be several or none.
    public var groups: TypedStreamGroups { TypedStreamGroups(start: reader(.viewing).place) }

    /// The objects, classes and C strings, which have one numbering, in the order in which they begin in the file.
    ///
    /// References are indices into this collection; cycles are possible.
    public var labels: TypedStreamLabels { TypedStreamLabels(index: index) }

    /// A reader at the first group.
    func reader(_ pass: TypedStreamReader.Pass) -> TypedStreamReader { TypedStreamReader(index, pass, at: firstGroup) }
}

extension TypedStreamGraph: Hashable {
    /// Whether both are written as the same bytes.
    ///
    /// - Complexity: Linear in the size of the archives.
    public static func == (first: TypedStreamGraph, second: TypedStreamGraph) -> Bool {
        first.index.bytes.bytes.elementsEqual(second.index.bytes.bytes)
    }

    /// Feeds the bytes of the archive to a hasher.
    ///
    /// - Complexity: Linear in the size of the archive.
    public func hash(into hasher: inout Hasher) { hasher.combine(bytes: index.bytes.bytes) }
}

extension TypedStreamGraph: CustomStringConvertible {
    /// One line: the byte order, the version of the system and the number of labels.
    public var description: String {
        "typedstream, \(isBigEndian ? "big" : "little")-endian, system \(systemVersion), \(index.labelCount) labels"
    }
}
