#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// Writes a whole archive: values and object graphs under keys.
///
/// ```swift
/// let archiver = KeyedArchiver()
/// try archiver.encode(foo, forKey: "myfoo")
/// try archiver.encode(bar, forKey: "mybar")
/// let bytes = try archiver.finish()
/// ```
public final class KeyedArchiver {
    /// The key `archive(_:)` uses.
    public static let rootKey = "root"

    /// The format written.
    public var format: ArchiveFormat { writer.format }
    let writer: ArchiveWriter
    private var encoder: ObjectEncoder { writer.encoder }

    /// Makes an archiver without content.
    ///
    /// - Parameters:
    ///   - format: The format to write.
    ///   - limits: Bounds beyond which encoding throws.
    ///   - classes: Class names other than the classes' own.
    public init(
        format: ArchiveFormat = .compact, limits: ArchiveLimits = ArchiveLimits(),
        classes: ClassRegistry = ClassRegistry()
    ) {
        writer = ArchiveWriter(format, limits: limits, classes: classes)
    }

    /// What `Codable` types find in the `userInfo` of their encoder while they are encoded.
    ///
    /// In messages it is empty.
    public var userInfo: [CodingUserInfoKey: any Sendable] {
        get { encoder.userInfo }
        set { encoder.userInfo = newValue }
    }

    /// Observes each object that is encoded; not retained.
    public weak var delegate: (any KeyedArchiverDelegate)? {
        didSet {
            encoder.delegate = delegate
            encoder.hasDelegate = delegate != nil
        }
    }

    /// Encodes a value or object under a top-level key.
    ///
    /// - Parameters:
    ///   - value: Any `Codable` value, or an object.
    ///   - key: A key not used before.
    /// - Throws: `ArchiveError`; its code is `thrownByType` where the value's own code throws.
    public func encode<T: Encodable>(_ value: T, forKey key: String) throws { try encoder.encode(value, forKey: key) }

    /// Encodes a reference to an object that is archived only if something else encodes it unconditionally.
    ///
    /// - Parameters:
    ///   - object: The object; nil is encoded as nil.
    ///   - key: A key not used before.
    /// - Throws: `ArchiveError` if the archive is finished.
    public func encodeConditional<T: ObjectCoding>(_ object: T?, forKey key: String) throws {
        try encoder.encodeConditional(object, forKey: key)
    }

    /// Encodes an object of a class known only when the program runs.
    ///
    /// - Parameters:
    ///   - object: The object; nil is encoded as nil.
    ///   - key: A key not used before.
    /// - Throws: `ArchiveError`; its code is `thrownByType` where the value's own code throws.
    public func encodeObject(_ object: (any ObjectCoding)?, forKey key: String) throws {
        try encoder.encodeObject(object, forKey: key)
    }

    /// Completes the archive; nothing can be encoded afterwards.
    ///
    /// - Throws: `ArchiveError` if encoding failed before, if the archive is larger than the limits allow, or if it is
    ///   already finished.
    /// - Complexity: Linear in the size of the archive.
    public func finish() throws -> [UInt8] { try writer.finish() }

    /// Completes the archive; nothing can be encoded afterwards.
    ///
    /// Write `let data: Data = try archiver.finish()`: without the type, the result is an array.
    ///
    /// - Throws: `ArchiveError`, like the `finish()` that returns an array.
    /// - Complexity: Linear in the size of the archive.
    @_disfavoredOverload
    public func finish() throws -> Data { Data(try finish() as [UInt8]) }

    /// Archives one value or object, under the key `root`.
    ///
    /// - Parameters:
    ///   - root: The value or object.
    ///   - format: The format to write.
    ///   - limits: Bounds beyond which encoding throws.
    ///   - classes: Class names other than the classes' own.
    /// - Throws: `ArchiveError`; its code is `thrownByType` where the code of a value or object throws.
    /// - Complexity: Linear in the size of the archive.
    public static func archive<T: Encodable>(
        _ root: T, format: ArchiveFormat = .compact, limits: ArchiveLimits = ArchiveLimits(),
        classes: ClassRegistry = ClassRegistry()
    ) throws -> [UInt8] {
        let archiver = KeyedArchiver(format: format, limits: limits, classes: classes)
        try archiver.encode(root, forKey: rootKey)
        return try archiver.finish()
    }

    /// Archives one value or object, under the key `root`.
    ///
    /// - Parameters:
    ///   - root: The value or object.
    ///   - format: The format to write.
    ///   - limits: Bounds beyond which encoding throws.
    ///   - classes: Class names other than the classes' own.
    /// - Throws: `ArchiveError`; its code is `thrownByType` where the code of a value or object throws.
    /// - Complexity: Linear in the size of the archive.
    public static func archivedData<T: Encodable>(
        withRoot root: T, format: ArchiveFormat = .compact, limits: ArchiveLimits = ArchiveLimits(),
        classes: ClassRegistry = ClassRegistry()
    ) throws -> Data {
        Data(try archive(root, format: format, limits: limits, classes: classes))
    }
}
