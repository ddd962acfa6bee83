/// Observes each `ObjectCoding` object that an archiver encodes.
public protocol KeyedArchiverDelegate: AnyObject {
    /// An object is encoded for the first time, after its own `replacementObject(for:)`. Returns the object to archive.
    func archiver(willEncode object: any ObjectCoding) -> (any ObjectCoding)?
    /// An object was written.
    func archiver(didEncode object: any ObjectCoding)
    /// An object is replaced, by its class or by the delegate.
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
    /// An object was decoded and is awake. Returns the object to use in its place.
    func unarchiver(didDecode object: any ObjectCoding) -> any ObjectCoding
    /// The archive names a class that is not allowed or not known. Returns the class to use, or nil to fail.
    func unarchiver(cannotDecodeClassNamed name: String) -> (any ObjectCoding.Type)?
    /// An object was replaced, by its class or by the delegate.
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
