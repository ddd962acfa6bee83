public import Foundation
public import KeyedArchive

/// Makes objects from archives of `NSCodingSequentialArchiver`, strictly in the order written.
///
/// `allowsKeyedCoding` is false. Decoding another type than comes next is an error that names both.
public final class NSCodingSequentialUnarchiver: NSCodingUnarchiver {
    /// Opens a sequential archive.
    ///
    /// - Parameters:
    ///   - data: The archive.
    ///   - classes: The classes that may be made, in addition to those of property lists. Nil allows any class: only
    ///     for your own archives.
    ///   - limits: The bounds of what is read.
    /// - Throws: `ArchiveError` if it is not a sequential archive.
    public init(forReadingFrom data: Data, allowing classes: [AnyClass]? = nil, limits: ArchiveLimits = ArchiveLimits())
        throws
    {
        super.init(
            try Self.open(data, limits: limits, sequential: true), bytes: data.count, limits: limits, sequential: true)
        if let classes {
            strictness = .listed
            lists = [AllowList.of(classes)]
        }
    }

    /// Whether all top-level values were decoded.
    public var isAtEnd: Bool { frames[0].value(forStoredKey: "$\(frames[0].position)") == nil }

    /// Decodes the only root of a sequential archive.
    ///
    /// - Throws: `ArchiveError`.
    /// - Complexity: Linear in the number of objects that the object reaches and that are not decoded yet.
    public static func unarchivedObject(with data: Data, allowing classes: [AnyClass]? = nil) throws -> Any? {
        let unarchiver = try NSCodingSequentialUnarchiver(forReadingFrom: data, allowing: classes)
        let object = unarchiver.decodeObject()
        unarchiver.finishDecoding()
        if let failure = unarchiver.failure { throw failure }
        return object
    }
}
