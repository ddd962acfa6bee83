public import Foundation

/// A class with a version, which archives store for a later `init(coder:)` to check.
///
/// Foundation on Linux has no `NSObject.version()`. A class that needs a version declares it here, and calls
/// `version(forClassName:)` on its coder while decoding.
public protocol NSCodingVersioned: NSCoding {
    /// The version written; 0 is written as no version.
    static var classVersion: Int { get }
}

/// A class whose instances may be replaced by another object after decoding.
///
/// Foundation on Linux has no `NSObject.awakeAfter(using:)`. Declare the conformance and write the method as for
/// Apple's Foundation, without `override`.
public protocol NSCodingAwakening: NSCoding {
    /// The object to use in place of this one, which was just decoded; nil or `self` to keep this one.
    func awakeAfter(using coder: NSCoder) -> Any?
}

/// A class that lists the other classes that an archive of its instances may contain.
///
/// Most classes name them while decoding: `decodeObject(of:forKey:)`. A class that decodes collections without naming
/// the classes of their elements lists them here, to be usable in `NSCoded`.
public protocol NSCodingClassListing: NSCoding {
    /// Classes allowed wherever an instance of this one is expected.
    static var archivedClasses: [AnyClass] { get }
}
