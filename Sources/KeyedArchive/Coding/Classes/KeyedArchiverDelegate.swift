/// Observes each `ObjectCoding` object that an archiver encodes.
public protocol KeyedArchiverDelegate: AnyObject {
    /// Called before an object is first encoded, after its `replacementObject(for:)`; returns the object to archive.
    func archiver(willEncode object: any ObjectCoding) -> (any ObjectCoding)?
    /// Called after an object was written.
    func archiver(didEncode object: any ObjectCoding)
    /// Called when an object is replaced, by its class or by the delegate.
    func archiver(willReplace object: any ObjectCoding, with replacement: any ObjectCoding)
}

extension KeyedArchiverDelegate {
    /// Archives the object itself.
    public func archiver(willEncode object: any ObjectCoding) -> (any ObjectCoding)? { object }
    /// Does nothing.
    public func archiver(didEncode object: any ObjectCoding) {}
    /// Does nothing.
    public func archiver(willReplace object: any ObjectCoding, with replacement: any ObjectCoding) {}
}

/// Observes each `ObjectCoding` object that an unarchiver decodes.
public protocol KeyedUnarchiverDelegate: AnyObject {
    /// Called after an object was decoded and is awake; returns the object to use in its place.
    func unarchiver(didDecode object: any ObjectCoding) -> any ObjectCoding
    /// Called when a class name is not allowed or not known; returns the class to use, or nil to fail.
    func unarchiver(cannotDecodeClassNamed name: String) -> (any ObjectCoding.Type)?
    /// Called when an object was replaced, by its class or by the delegate.
    func unarchiver(didReplace object: any ObjectCoding, with replacement: any ObjectCoding)
}

extension KeyedUnarchiverDelegate {
    /// Uses the object itself.
    public func unarchiver(didDecode object: any ObjectCoding) -> any ObjectCoding { object }
    /// Fails.
    public func unarchiver(cannotDecodeClassNamed name: String) -> (any ObjectCoding.Type)? { nil }
    /// Does nothing.
    public func unarchiver(didReplace object: any ObjectCoding, with replacement: any ObjectCoding) {}
}
