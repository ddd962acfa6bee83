public import Foundation
public import KeyedArchive

/// Makes objects from what `NSCodingSequentialArchiver` wrote, strictly in the order written.
///
/// `allowsKeyedCoding` is false. A call for another type than the one written next is an error that names both.
public final class NSCodingSequentialUnarchiver: NSCodingUnarchiver {
    /// Opens a sequential archive.
    ///
    /// - Parameters:
    ///   - data: The archive.
    ///   - classes: The classes that may be made, in addition to those of property lists; nil for any class, which
    ///     is only for archives of your own.
    ///   - limits: The bounds of what is read.
    /// - Throws: `ArchiveError` if it is not a sequential archive.
    public init(forReadingFrom data: Data, allowing classes: [AnyClass]? = nil, limits: ArchiveLimits = ArchiveLimits())
        throws
    {
        super.init(try Self.open(data, limits: limits, sequential: true), limits: limits, sequential: true)
        if let classes {
            strictness = .listed
            lists = [AllowList(classes)]
        }
    }

    /// Whether everything at the top was decoded.
    public var isAtEnd: Bool { frames[0].value(forStoredKey: "$\(frames[0].position)") == nil }

    /// Makes the only root of a sequential archive.
    ///
    /// - Throws: `ArchiveError`.
    public static func unarchivedObject(with data: Data, allowing classes: [AnyClass]? = nil) throws -> Any? {
        let unarchiver = try NSCodingSequentialUnarchiver(forReadingFrom: data, allowing: classes)
        let object = unarchiver.decodeObject()
        unarchiver.finishDecoding()
        if let failure = unarchiver.failure { throw failure }
        return object
    }
}
