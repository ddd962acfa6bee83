import Foundation

/// Archives objects strictly in order, without keys.
///
/// The counterpart of Foundation's `NSArchiver`: `allowsKeyedCoding` is false, and each object is decoded with the same
/// calls, of the same types, in the same order. Read it with `NSCodingSequentialUnarchiver`.
public final class NSCodingSequentialArchiver: NSCodingArchiver {
    /// Makes an archiver without keys.
    public init() { super.init(sequential: true, secure: false) }
}

/// How sequential archives differ from keyed ones.
enum SequentialLayout {
    /// The archiver's name in the file, so that it is not mistaken for an archive with keys.
    static let archiver = "NSArchiver"
}
