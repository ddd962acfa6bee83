#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// Reads a whole archive by its keys, in any order.
///
/// ```swift
/// let unarchiver = try KeyedUnarchiver(bytes)
/// let foo = try unarchiver.decode(Foo.self, forKey: "myfoo")
/// ```
///
/// Objects are made only of classes that the reading code names: as the expected type, among its `codingSubclasses`, in
/// the `ClassRegistry`, or in a list passed with a key.
public final class KeyedUnarchiver {
    /// The format the archive is in.
    public let format: ArchiveFormat
    private let decoder: ObjectDecoder

    /// Opens an archive in any format and keeps its bytes, without a copy.
    ///
    /// - Parameters:
    ///   - bytes: The archive.
    ///   - limits: Bounds beyond which reading throws.
    ///   - classes: Classes allowed beyond those the reading code names.
    /// - Throws: `ArchiveError` if the bytes are not an archive, or exceed the limits.
    /// - Complexity: Linear in the number of objects; in Apple's format in the size of the archive.
    public convenience init(
        _ bytes: [UInt8], limits: ArchiveLimits = ArchiveLimits(), classes: ClassRegistry = ClassRegistry()
    ) throws {
        try self.init(owner: ArchiveBytes(bytes), limits, classes)
    }

    /// Opens an archive in any format and keeps its bytes, without a copy.
    ///
    /// - Parameters:
    ///   - data: The archive.
    ///   - limits: Bounds beyond which reading throws.
    ///   - classes: Classes allowed beyond those the reading code names.
    /// - Throws: `ArchiveError` if the bytes are not an archive, or exceed the limits.
    /// - Complexity: Linear in the number of objects; in Apple's format in the size of the archive.
    public convenience init(
        _ data: Data, limits: ArchiveLimits = ArchiveLimits(), classes: ClassRegistry = ClassRegistry()
    ) throws {
        try self.init(owner: ArchiveBytes(data), limits, classes)
    }

    private init(owner: ArchiveBytes, _ limits: ArchiveLimits, _ classes: ClassRegistry) throws {
        (decoder, format) = try ObjectDecoder.open(owner, limits, classes)
    }

    /// What `Codable` types find in the `userInfo` of their decoder while they are decoded.
    ///
    /// In messages it is empty.
    public var userInfo: [CodingUserInfoKey: any Sendable] {
        get { decoder.userInfo }
        set { decoder.userInfo = newValue }
    }

    /// Observes each object that is decoded; not retained.
    public weak var delegate: (any KeyedUnarchiverDelegate)? {
        didSet {
            decoder.delegate = delegate
            decoder.hasDelegate = delegate != nil
        }
    }

    /// The keys at the top of the archive, in the order written.
    public var keys: [String] { decoder.openKeys }

    /// Whether anything was encoded under the key, including nil.
    public func contains(_ key: String) -> Bool { decoder.contains(key) }

    /// Decodes the value or object under a key.
    ///
    /// - Throws: `ArchiveError` if the key is missing or holds another type; the error's path ends in the key. Its code
    ///   is `thrownByType` where the type's own code throws.
    /// - Complexity: Linear in the size of what is decoded.
    public func decode<T: Decodable>(_ type: T.Type, forKey key: String) throws -> T {
        try decoder.completeTop { try decoder.decode(type, forKey: key) }
    }

    /// Decodes the value or object under a key; nil if the key is missing or holds nil.
    ///
    /// - Throws: `ArchiveError` if the key holds another type; the error's path ends in the key.
    /// - Complexity: Linear in the size of what is decoded.
    public func decodeIfPresent<T: Decodable>(_ type: T.Type, forKey key: String) throws -> T? {
        try decoder.completeTop { try decoder.decodeIfPresent(type, forKey: key) }
    }

    /// Decodes the value or object under a key; the default if the key is missing or holds nil.
    ///
    /// - Throws: What `value` throws, and `ArchiveError` if the key holds another type; its path ends in the key.
    public func decode<T: Decodable>(
        _ type: T.Type, forKey key: String, default value: @autoclosure () throws -> T
    ) throws -> T {
        try decodeIfPresent(type, forKey: key) ?? value()
    }

    /// Decodes a value that may contain only objects of the listed classes and of the requested type.
    ///
    /// - Throws: `ArchiveError` if the key is missing or holds another type; the error's path ends in the key. Its code
    ///   is `classNotAllowed` for another class.
    public func decode<T: Decodable>(
        _ type: T.Type, forKey key: String, allowing classes: [any (AnyObject & Decodable).Type]
    ) throws -> T {
        try decoder.completeTop { try decoder.decode(type, forKey: key, allowing: classes) }
    }

    /// Decodes an object of one of the classes in the list, nil if nil was encoded.
    ///
    /// - Throws: `ArchiveError` if the key is missing or holds another type; the error's path ends in the key. Its code
    ///   is `classNotAllowed` for another class.
    public func decodeObject(
        forKey key: String, allowing classes: [any ObjectCoding.Type]
    ) throws -> (any ObjectCoding)? {
        try decoder.completeTop { try decoder.decodeObject(forKey: key, allowing: classes) }
    }

    /// Decodes the root of an archive written by `KeyedArchiver.archive`.
    ///
    /// - Parameters:
    ///   - type: The type that was archived.
    ///   - bytes: An archive in any format.
    ///   - limits: Bounds beyond which reading throws.
    ///   - classes: Classes allowed beyond those the reading code names.
    /// - Throws: `ArchiveError` with the path to what is wrong.
    /// - Complexity: Linear in the size of the archive.
    public static func unarchive<T: Decodable>(
        _ type: T.Type, from bytes: [UInt8], limits: ArchiveLimits = ArchiveLimits(),
        classes: ClassRegistry = ClassRegistry()
    ) throws -> T {
        try KeyedUnarchiver(bytes, limits: limits, classes: classes).decode(type, forKey: KeyedArchiver.rootKey)
    }

    /// Decodes the root of an archive written by `KeyedArchiver.archive`.
    ///
    /// - Parameters:
    ///   - type: The type that was archived.
    ///   - data: An archive in any format.
    ///   - limits: Bounds beyond which reading throws.
    ///   - classes: Classes allowed beyond those the reading code names.
    /// - Throws: `ArchiveError` with the path to what is wrong.
    /// - Complexity: Linear in the size of the archive.
    public static func unarchive<T: Decodable>(
        _ type: T.Type, from data: Data, limits: ArchiveLimits = ArchiveLimits(),
        classes: ClassRegistry = ClassRegistry()
    ) throws -> T {
        try KeyedUnarchiver(data, limits: limits, classes: classes).decode(type, forKey: KeyedArchiver.rootKey)
    }
}

extension ObjectDecoder {
    /// Opens a whole archive of any format.
    static func open(
        _ owner: ArchiveBytes, _ limits: ArchiveLimits, _ classes: ClassRegistry
    ) throws -> (ObjectDecoder, ArchiveFormat) {
        let format = try ArchiveFormat.detect(owner.bytes, limits: limits)
        guard format == .compact else {
            let table = try PlistTable.open(owner, format, limits: limits)
            return (try open(KeyedLayout(table, limits: limits, anyArchiver: false), limits, classes), format)
        }
        let (shapes, body) = try CompactFile.parse(owner.bytes, limits: limits)
        let decoder = try ObjectDecoder(
            bytes: body, owner: owner, shapes: shapes, limits: limits, classes: classes, handsOutSlices: false)
        try decoder.openRoots()
        guard decoder.frame.storedKeys.first == KeyedCompact.archiverKey else { return (decoder, format) }
        // The compact format holds Apple's layout: convert it to a binary property list and read that.
        let graph = ArchivedGraph(try CompactLayout(owner, limits: limits))
        let binary = try graph.binaryPieces(limits: limits).inOnePiece()
        let table = try PlistTable(binary.bytes, owner: binary, limits: limits)
        return (try open(KeyedLayout(table, limits: limits, anyArchiver: false), limits, classes), format)
    }

    /// Opens an archive of Apple's layout.
    private static func open(
        _ layout: KeyedLayout, _ limits: ArchiveLimits, _ classes: ClassRegistry
    ) throws -> ObjectDecoder {
        let (shapes, bytes, hints, needsFile) = try AppleReader.body(of: layout, classes: classes, limits: limits)
        let body = ArchiveBytes(bytes)
        let decoder = try ObjectDecoder(
            bytes: body.bytes, owner: body, shapes: shapes, limits: limits, classes: classes, handsOutSlices: false)
        // If the body has all the content, the file is released here, before the decoded objects take memory.
        let table = layout.table
        decoder.foreign = ForeignArchive(
            outside: needsFile ? table.file : UnsafeRawBufferPointer(start: nil, count: 0),
            owner: needsFile ? table.owner : nil, hints: hints)
        try decoder.openRoots()
        return decoder
    }

    /// Whether all keys of the open record are positions.
    var hasOnlyPositions: Bool {
        frame.storedKeys.allSatisfy { StoredKey.position($0) != nil }
    }

    /// Opens the record of roots, which is the only value of a whole archive.
    func openRoots() throws {
        guard try input.byte() == Tag.record else {
            throw ArchiveError(.corrupt, "the archive has no keys")
        }
        let (shape, _) = try readShape(&input)
        guard shape.takeUnretainedValue().kind == .record, shape.takeUnretainedValue().layout != .single else {
            throw ArchiveError(.corrupt, "the archive has no keys")
        }
        try openShape(shape)
        try frame.checkEnd()
    }

    var openKeys: [String] { frame.storedKeys.map(StoredKey.unescaped) }

    /// Runs `body`, which reads top-level values, then makes the objects that only references asked for.
    func completeTop<R>(_ body: () throws -> R) throws -> R {
        try complete {
            let result = try body()
            try frame.checkEnd()
            return result
        }
    }

    /// Runs `body`, then makes the objects that only references asked for.
    func complete<R>(_ body: () throws -> R) throws -> R {
        do {
            let result = try body()
            if !notes.waiting.isEmpty { try drainReferences() }
            return result
        } catch {
            forgetReferences()
            throw ArchiveError.wrapping(error, at: nil)
        }
    }
}
