public import Foundation
public import KeyedArchive

extension NSCodingTypedStreamUnarchiver {
    /// Decodes the root of a typedstream, of a class or its subclasses.
    ///
    /// - Parameters:
    ///   - type: The class; only it, the classes that it names while decoding, and those of property lists are allowed.
    ///   - data: The archive.
    ///   - limits: The bounds of what is read.
    /// - Returns: The object; nil if the archive contains nil.
    /// - Throws: `ArchiveError`, with the path and the byte.
    /// - Complexity: Linear in the size of the archive.
    public static func unarchivedObject<T: NSObject & NSCoding>(
        ofClass type: T.Type, from data: Data, limits: ArchiveLimits = ArchiveLimits()
    ) throws -> T? {
        let object = try unarchivedObject(ofClasses: [type], from: data, limits: limits)
        guard let object else { return nil }
        guard let result = object as? T else {
            throw ArchiveError(.typeMismatch, "expected an object of \(T.self), found \(Swift.type(of: object))")
        }
        return result
    }

    /// Decodes the root of a typedstream, of one of several classes or their subclasses.
    ///
    /// - Parameters:
    ///   - classes: The classes; only they, the classes that they name while decoding, and those of property lists are
    ///     allowed. Nil allows any class of the program: only for your own archives.
    ///   - data: The archive.
    ///   - limits: The bounds of what is read.
    /// - Returns: The object; nil if the archive contains nil.
    /// - Throws: `ArchiveError`, with the path and the byte.
    /// - Complexity: Linear in the size of the archive.
    public static func unarchivedObject(
        ofClasses classes: [AnyClass]?, from data: Data, limits: ArchiveLimits = ArchiveLimits()
    ) throws -> Any? {
        let unarchiver = try NSCodingTypedStreamUnarchiver(forReadingFrom: data, allowing: classes, limits: limits)
        let object = unarchiver.decodeObject()
        if let failure = unarchiver.failure { throw failure }
        return object
    }

    /// Decodes the root of a typedstream, of any class of the program that the archive names.
    ///
    /// Only for your own archives: the archive chooses the classes.
    /// - Throws: `ArchiveError`, with the path and the byte.
    /// - Complexity: Linear in the size of the archive.
    public static func unarchiveObject(with data: Data) throws -> Any? {
        try unarchivedObject(ofClasses: nil, from: data)
    }

    /// Decodes the root of a file, of any class of the program that the archive names.
    ///
    /// Only for your own files: the archive chooses the classes.
    /// - Returns: The object; nil if there is no file, or it is not such an archive. `unarchiveObject(with:)` throws
    ///   the reason.
    /// - Complexity: Linear in the size of the archive.
    public static func unarchiveObject(withFile path: String) -> Any? {
        guard let data = try? Data(contentsOf: URL(fileURLWithPath: path)) else { return nil }
        return try? unarchiveObject(with: data)
    }
}
