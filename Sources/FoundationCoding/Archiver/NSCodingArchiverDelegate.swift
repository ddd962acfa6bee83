/// Observes the objects that an archiver archives, and may replace them.
///
/// All methods have defaults that do nothing.
public protocol NSCodingArchiverDelegate: AnyObject {
    /// The object to archive in place of `object`; nil to archive nil. Asked once for each object, before its class is.
    func archiver(_ archiver: NSCodingArchiver, willEncode object: Any) -> Any?

    /// An object, or what replaced it, has been encoded.
    func archiver(_ archiver: NSCodingArchiver, didEncode object: Any?)

    /// `newObject` is about to be archived in place of `object`, as its class or the delegate decided.
    func archiver(_ archiver: NSCodingArchiver, willReplace object: Any?, with newObject: Any?)

    /// The archive is about to be completed: the last moment to encode more.
    func archiverWillFinish(_ archiver: NSCodingArchiver)

    /// The archive is complete.
    func archiverDidFinish(_ archiver: NSCodingArchiver)
}

extension NSCodingArchiverDelegate {
    /// Archives the object itself.
    public func archiver(_ archiver: NSCodingArchiver, willEncode object: Any) -> Any? { object }

    /// Does nothing.
    public func archiver(_ archiver: NSCodingArchiver, didEncode object: Any?) {}

    /// Does nothing.
    public func archiver(_ archiver: NSCodingArchiver, willReplace object: Any?, with newObject: Any?) {}

    /// Does nothing.
    public func archiverWillFinish(_ archiver: NSCodingArchiver) {}

    /// Does nothing.
    public func archiverDidFinish(_ archiver: NSCodingArchiver) {}
}
