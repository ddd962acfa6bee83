#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

extension KeyedArchiver {
    /// Completes the archive and writes it into a file; nothing can be encoded afterwards.
    ///
    /// The file is replaced as a whole: a crash while writing leaves the old one. It keeps its permissions; a new file
    /// gets its permissions from the process's umask.
    /// - Parameter url: The file, in a folder that exists.
    /// - Throws: `ArchiveError`, which names the file, if it cannot be written.
    /// - Complexity: Linear in the number of objects and the size of their values.
    public func finish(to url: URL) throws {
        let file = try ArchiveFile(url)
        try file.write { try writer.finish(to: $0) }
    }

    /// Writes an archive with one root, under the key `root`, into a file.
    ///
    /// - Parameters:
    ///   - root: The value or object.
    ///   - url: The file, in a folder that exists. It is replaced as a whole, see `finish(to:)`.
    ///   - format: The format to write.
    ///   - limits: Bounds beyond which encoding throws.
    ///   - classes: Class names other than the classes' own.
    /// - Throws: What the classes' coding code throws, and `ArchiveError`; if the file cannot be written it names it.
    /// - Complexity: Linear in the number of objects and the size of their values.
    public static func archive<T: Encodable>(
        _ root: T, to url: URL, format: ArchiveFormat = .compact, limits: ArchiveLimits = ArchiveLimits(),
        classes: ClassRegistry = ClassRegistry()
    ) throws {
        let archiver = KeyedArchiver(format: format, limits: limits, classes: classes)
        try archiver.encode(root, forKey: rootKey)
        try archiver.finish(to: url)
    }
}

extension KeyedUnarchiver {
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
        do { try self.init(bytes, limits: limits, classes: classes) } catch let error as ArchiveError {
            throw file.naming(error)
        }
    }

    /// Decodes the value under `root` from an archive in a file, such as `KeyedArchiver.archive(_:to:)` writes.
    ///
    /// - Throws: `ArchiveError` with the code `noSuchFile` if the file does not exist; other errors name the file or
    ///   the path to the value.
    /// - Complexity: Linear in the size of the archive.
    public static func unarchive<T: Decodable>(
        _ type: T.Type, from url: URL, limits: ArchiveLimits = ArchiveLimits(), classes: ClassRegistry = ClassRegistry()
    ) throws -> T {
        try KeyedUnarchiver(contentsOf: url, limits: limits, classes: classes)
            .decode(type, forKey: KeyedArchiver.rootKey)
    }
}
