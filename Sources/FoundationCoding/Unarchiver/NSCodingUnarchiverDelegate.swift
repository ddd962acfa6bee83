/// Observes the objects that an unarchiver makes, and may replace them.
///
/// All methods have default implementations that do nothing.
public protocol NSCodingUnarchiverDelegate: AnyObject {
    /// Returns the class to use for an unknown one, or nil to fail.
    ///
    /// The class must still be allowed at its place.
    ///
    /// - Parameters:
    ///   - unarchiver: The unarchiver that found the class.
    ///   - name: The name of the class in the archive.
    ///   - classNames: The names of its superclasses in the archive, nearest first.
    func unarchiver(
        _ unarchiver: NSCodingUnarchiver, cannotDecodeObjectOfClassName name: String,
        originalClasses classNames: [String]
    ) -> AnyClass?

    /// Returns the object to use in place of one just decoded, or nil to keep it.
    func unarchiver(_ unarchiver: NSCodingUnarchiver, didDecode object: Any?) -> Any?

    /// Called before `newObject` replaces `object`, as its class or the delegate decided.
    func unarchiver(_ unarchiver: NSCodingUnarchiver, willReplace object: Any, with newObject: Any)

    /// Called before decoding ends.
    func unarchiverWillFinish(_ unarchiver: NSCodingUnarchiver)

    /// Called after decoding has ended.
    func unarchiverDidFinish(_ unarchiver: NSCodingUnarchiver)
}

extension NSCodingUnarchiverDelegate {
    /// Fails.
    public func unarchiver(
        _ unarchiver: NSCodingUnarchiver, cannotDecodeObjectOfClassName name: String,
        originalClasses classNames: [String]
    ) -> AnyClass? { nil }

    /// Keeps the object.
    public func unarchiver(_ unarchiver: NSCodingUnarchiver, didDecode object: Any?) -> Any? { object }

    /// Does nothing.
    public func unarchiver(_ unarchiver: NSCodingUnarchiver, willReplace object: Any, with newObject: Any) {}

    /// Does nothing.
    public func unarchiverWillFinish(_ unarchiver: NSCodingUnarchiver) {}

    /// Does nothing.
    public func unarchiverDidFinish(_ unarchiver: NSCodingUnarchiver) {}
}
