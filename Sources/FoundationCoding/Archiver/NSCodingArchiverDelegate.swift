/// Observes the objects that an archiver archives, and may replace them.
///
/// All methods have default implementations that do nothing.
public protocol NSCodingArchiverDelegate: AnyObject {
    /// Returns the object to archive in place of `object`, or nil; called once for each object, before its class.
    func archiver(_ archiver: NSCodingArchiver, willEncode object: Any) -> Any?

    /// Called after an object, or its replacement, was encoded.
    func archiver(_ archiver: NSCodingArchiver, didEncode object: Any?)

    /// Called before `newObject` is archived in place of `object`, as its class or the delegate decided.
    func archiver(_ archiver: NSCodingArchiver, willReplace object: Any?, with newObject: Any?)

    /// Called before the archive is completed: the last chance to encode more.
    func archiverWillFinish(_ archiver: NSCodingArchiver)

    /// Called when the archive is complete.
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
