/// Observes the objects that an unarchiver makes, and may replace them.
///
/// All methods have defaults that do nothing.
public protocol NSCodingUnarchiverDelegate: AnyObject {
    /// The class to use for one that is not known; nil to fail.
    ///
    /// It must still be allowed at its place.
    /// - Parameters:
    ///   - unarchiver: The unarchiver that met the class.
    ///   - name: The name of the class in the archive.
    ///   - classNames: The names of its superclasses as the archive has them, nearest first.
    func unarchiver(
        _ unarchiver: NSCodingUnarchiver, cannotDecodeObjectOfClassName name: String,
        originalClasses classNames: [String]
    ) -> AnyClass?

    /// The object to use in place of one just decoded; nil to keep it.
    func unarchiver(_ unarchiver: NSCodingUnarchiver, didDecode object: Any?) -> Any?

    /// `newObject` takes the place of `object`, as its class or the delegate decided.
    func unarchiver(_ unarchiver: NSCodingUnarchiver, willReplace object: Any, with newObject: Any)

    /// Decoding is about to end.
    func unarchiverWillFinish(_ unarchiver: NSCodingUnarchiver)

    /// Decoding has ended.
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
