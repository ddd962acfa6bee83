public import Foundation
public import KeyedArchive

extension NSCodingArchiver {
    /// The key of the root in an archive with one root.
    public static let rootKey = "root"

    /// Archives one object, under the key `root`.
    ///
    /// - Parameters:
    ///   - root: An object of an `NSCoding` class, or a value that bridges to one; nil makes an archive of nil.
    ///   - requiringSecureCoding: Whether all objects must be of `NSSecureCoding` classes.
    ///   - format: The format to write.
    /// - Throws: `ArchiveError`.
    /// - Complexity: Linear in the number of objects and the size of their values.
    public class func archivedData(
        withRootObject root: Any?, requiringSecureCoding: Bool = false, format: ArchiveFormat = .binary
    ) throws -> Data {
        try archivedData(
            withRoots: [rootKey: root], requiringSecureCoding: requiringSecureCoding, format: format)
    }

    /// Archives several objects in one archive, each under its own key; sharing between them is kept.
    ///
    /// - Parameters:
    ///   - roots: The objects by their keys.
    ///   - requiringSecureCoding: Whether all objects must be of `NSSecureCoding` classes.
    ///   - format: The format to write.
    /// - Throws: `ArchiveError`.
    /// - Complexity: Linear in the number of objects and the size of their values.
    public class func archivedData(
        withRoots roots: KeyValuePairs<String, Any?>, requiringSecureCoding: Bool = false,
        format: ArchiveFormat = .binary
    ) throws -> Data {
        guard !(self is NSCodingSequentialArchiver.Type) else {
            throw ArchiveError(.misuse, "objects under keys, for a sequential archive, which has none")
        }
        let archiver = NSCodingArchiver(requiringSecureCoding: requiringSecureCoding)
        archiver.outputFormat = format
        for (key, root) in roots { archiver.encode(root, forKey: key) }
        return try archiver.data()
    }

    /// Archives one object into a file, which is replaced as a whole or not at all.
    ///
    /// - Throws: `ArchiveError`, which names the file if it cannot be written.
    /// - Complexity: Linear in the number of objects and the size of their values.
    public class func archive(_ root: Any?, to file: URL, format: ArchiveFormat = .binary) throws {
        let data =
            self is NSCodingSequentialArchiver.Type
            ? try NSCodingSequentialArchiver.archivedData(withRootObject: root, format: format)
            : try archivedData(withRootObject: root, requiringSecureCoding: false, format: format)
        try data.withUnsafeBytes { try ArchiveFile(file).write($0) }
    }

    /// Archives one object into a file, which is replaced as a whole or not at all.
    ///
    /// - Returns: Whether it succeeded; `archive(_:to:format:)` throws the reason.
    /// - Complexity: Linear in the number of objects and the size of their values.
    @discardableResult
    public class func archiveRootObject(_ root: Any, toFile path: String) -> Bool {
        (try? archive(root, to: URL(fileURLWithPath: path))) != nil
    }
}

extension NSCodingSequentialArchiver {
    /// Archives one object without keys.
    ///
    /// - Throws: `ArchiveError`.
    /// - Complexity: Linear in the number of objects and the size of their values.
    public static func archivedData(withRootObject root: Any?, format: ArchiveFormat = .binary) throws -> Data {
        let archiver = NSCodingSequentialArchiver()
        archiver.outputFormat = format
        if let root { archiver.encodeRootObject(root) } else { archiver.encode(nil as Any?) }
        return try archiver.data()
    }
}
