#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// Reads a sequential archive: its values in the order they were encoded.
///
/// Decoding another type than comes next, or more values than there are, throws an error that names the position.
public final class SequentialUnarchiver {
    /// The format the archive is in.
    public let format: ArchiveFormat
    private let decoder: ObjectDecoder

    /// Opens an archive in any format and keeps its bytes, without a copy.
    ///
    /// - Throws: `ArchiveError` if the bytes are not an archive, or one with keys.
    public convenience init(
        _ bytes: [UInt8], limits: ArchiveLimits = ArchiveLimits(), classes: ClassRegistry = ClassRegistry()
    ) throws {
        try self.init(owner: ArchiveBytes(bytes), limits, classes)
    }

    /// Opens an archive in any format and keeps its bytes, without a copy.
    ///
    /// - Throws: `ArchiveError` if the bytes are not an archive, or one with keys.
    public convenience init(
        _ data: Data, limits: ArchiveLimits = ArchiveLimits(), classes: ClassRegistry = ClassRegistry()
    ) throws {
        try self.init(owner: ArchiveBytes(data), limits, classes)
    }

    /// Opens the archive in a file, in any format.
    ///
    /// - Parameters:
    ///   - url: The file; it is read as a whole.
    ///   - limits: Bounds; a file larger than `ArchiveLimits.bytes` is not read.
    ///   - classes: Classes allowed beyond those the reading code names.
    /// - Throws: `ArchiveError` with the code `noSuchFile` if the file does not exist; other errors name the file.
    public convenience init(
        contentsOf url: URL, limits: ArchiveLimits = ArchiveLimits(), classes: ClassRegistry = ClassRegistry()
    ) throws {
        let file = try ArchiveFile(url)
        let bytes = try file.read(limits: limits)
        do { try self.init(owner: ArchiveBytes(bytes), limits, classes) } catch let error as ArchiveError {
            throw file.naming(error)
        }
    }

    private init(owner: ArchiveBytes, _ limits: ArchiveLimits, _ classes: ClassRegistry) throws {
        (decoder, format) = try ObjectDecoder.open(owner, limits, classes)
        guard decoder.hasOnlyPositions else {
            throw ArchiveError(.unsupported, "an archive with keys: open it with a KeyedUnarchiver")
        }
        decoder.isSequential = true
    }

    /// What `Codable` types find in the `userInfo` of their decoder while they are decoded.
    ///
    /// In messages it is empty.
    public var userInfo: [CodingUserInfoKey: any Sendable] {
        get { decoder.userInfo }
        set { decoder.userInfo = newValue }
    }

    /// Whether all values have been decoded.
    public var isAtEnd: Bool { decoder.isAtEnd }

    /// Decodes the next value or object.
    ///
    /// - Throws: `ArchiveError` if another type or nothing comes next; the error's path ends in the position.
    public func decode<T: Decodable>(_ type: T.Type) throws -> T {
        try decoder.completeTop { try decoder.decode(type) }
    }

    /// Decodes the next value or object; nil if nil was encoded.
    ///
    /// - Throws: `ArchiveError` if another type or nothing comes next; the error's path ends in the position.
    public func decodeIfPresent<T: Decodable>(_ type: T.Type) throws -> T? {
        try decoder.completeTop { try decoder.decodeIfPresent(type) }
    }

    /// Decodes the next object, of one of the classes in the list; nil if nil was encoded.
    ///
    /// - Throws: `ArchiveError` if something else comes next; its code is `classNotAllowed` for another class.
    public func decodeObject(allowing classes: [any ObjectCoding.Type]) throws -> (any ObjectCoding)? {
        try decoder.completeTop { try decoder.decodeObject(allowing: classes) }
    }
}
