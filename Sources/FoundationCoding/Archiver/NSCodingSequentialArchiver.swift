import Foundation

/// Archives objects strictly in order, without keys.
///
/// The counterpart of Foundation's `NSArchiver`: `allowsKeyedCoding` is false, and objects are decoded with the same
/// calls, of the same types, in the same order. Read it with `NSCodingSequentialUnarchiver`.
public final class NSCodingSequentialArchiver: NSCodingArchiver {
    /// Makes an archiver without keys.
    public init() { super.init(sequential: true, secure: false) }
}

/// How sequential archives differ from keyed ones.
enum SequentialLayout {
    /// The archiver's name in the file, which distinguishes the archive from one with keys.
    static let archiver = "NSArchiver"
}
