#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// Writes a sequential archive: values and object graphs one after the other, without keys.
///
/// Objects in it have no keys either: `ObjectEncoder.allowsKeyedCoding` is false, and a class that supports both ways
/// checks it. Values must be decoded in the order they were encoded.
///
/// ```swift
/// let archiver = SequentialArchiver()
/// try archiver.encode(employee)
/// try archiver.encode(7)
/// let bytes = try archiver.finish()
///
/// let unarchiver = try SequentialUnarchiver(bytes)
/// let employee = try unarchiver.decode(Employee.self)
/// let number = try unarchiver.decode(Int.self)
/// ```
public final class SequentialArchiver {
    /// The format written.
    public var format: ArchiveFormat { writer.format }
    private let writer: ArchiveWriter
    private var encoder: ObjectEncoder { writer.encoder }

    /// Makes an archiver without content.
    ///
    /// - Parameters:
    ///   - format: The format to write; in Apple's formats the values have the keys "$0", "$1" and so on.
    ///   - limits: Bounds beyond which encoding throws.
    ///   - classes: Class names other than the classes' own.
    public init(
        format: ArchiveFormat = .compact, limits: ArchiveLimits = ArchiveLimits(),
        classes: ClassRegistry = ClassRegistry()
    ) {
        writer = ArchiveWriter(format, limits: limits, classes: classes, isSequential: true)
    }

    /// What `Codable` types find in the `userInfo` of their encoder while they are encoded.
    ///
    /// In messages it is empty.
    public var userInfo: [CodingUserInfoKey: any Sendable] {
        get { encoder.userInfo }
        set { encoder.userInfo = newValue }
    }

    /// Encodes the next value or object.
    ///
    /// - Parameter value: Any `Codable` value, or an object.
    /// - Throws: `ArchiveError`; its code is `thrownByType` where the value's own code throws.
    public func encode<T: Encodable>(_ value: T) throws { try encoder.encode(value) }

    /// Encodes a reference to an object that is archived only if something else encodes it unconditionally.
    ///
    /// - Parameter object: The object; nil is encoded as nil.
    /// - Throws: `ArchiveError` if the archive is finished.
    public func encodeConditional<T: ObjectCoding>(_ object: T?) throws { try encoder.encodeConditional(object) }

    /// Completes the archive; nothing can be encoded afterwards.
    ///
    /// - Throws: `ArchiveError` if encoding failed before, if the archive is larger than the limits allow, or if it is
    ///   already finished.
    /// - Complexity: Linear in the size of the archive.
    public func finish() throws -> [UInt8] { try writer.finish() }

    /// Completes the archive; nothing can be encoded afterwards.
    ///
    /// - Throws: `ArchiveError`, like the `finish()` that returns an array.
    /// - Complexity: Linear in the size of the archive.
    @_disfavoredOverload
    public func finish() throws -> Data { Data(try finish() as [UInt8]) }

    /// Completes the archive and writes it into a file, which is replaced as a whole.
    ///
    /// - Parameter url: The file, in a folder that exists.
    /// - Throws: `ArchiveError`, which names the file if it cannot be written.
    /// - Complexity: Linear in the number of objects and the size of their values.
    public func finish(to url: URL) throws {
        let file = try ArchiveFile(url)
        try file.write { try writer.finish(to: $0) }
    }
}
