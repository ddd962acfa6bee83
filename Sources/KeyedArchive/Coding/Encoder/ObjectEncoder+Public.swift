#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

extension ObjectEncoder {
    /// Encodes an integer.
    ///
    /// - Throws: `ArchiveError` if nothing can be encoded under a key here. A key used twice is found when the object
    ///   is complete.
    public func encode(_ value: Int, forKey key: String) throws {
        try objectKey(key)
        output.integer(Int64(value))
    }

    /// Encodes an integer.
    ///
    /// - Throws: `ArchiveError` if nothing can be encoded under a key here. A key used twice is found when the object
    ///   is complete.
    public func encode(_ value: Int64, forKey key: String) throws {
        try objectKey(key)
        output.integer(value)
    }

    /// Encodes an integer.
    ///
    /// - Throws: `ArchiveError` if nothing can be encoded under a key here. A key used twice is found when the object
    ///   is complete.
    public func encode(_ value: Int32, forKey key: String) throws {
        try objectKey(key)
        output.integer(Int64(value))
    }

    /// Encodes a Boolean.
    ///
    /// - Throws: `ArchiveError` if nothing can be encoded under a key here. A key used twice is found when the object
    ///   is complete.
    public func encode(_ value: Bool, forKey key: String) throws {
        try objectKey(key)
        output.boolean(value)
    }

    /// Encodes a number, bit for bit.
    ///
    /// - Throws: `ArchiveError` if nothing can be encoded under a key here. A key used twice is found when the object
    ///   is complete.
    public func encode(_ value: Double, forKey key: String) throws {
        try objectKey(key)
        output.double(value)
    }

    /// Encodes a number, bit for bit.
    ///
    /// - Throws: `ArchiveError` if nothing can be encoded under a key here. A key used twice is found when the object
    ///   is complete.
    public func encode(_ value: Float, forKey key: String) throws {
        try objectKey(key)
        output.float(value)
    }

    /// Encodes a string.
    ///
    /// - Throws: `ArchiveError` if nothing can be encoded under a key here, or if the value is larger than the limits
    ///   allow.
    /// - Complexity: Linear in the length.
    public func encode(_ value: String, forKey key: String) throws {
        try objectKey(key)
        try write(string: value)
    }

    /// Encodes bytes.
    ///
    /// From 32 KiB on they are not copied: do not change the memory behind a `Data` made without copy
    /// before the archive is sent.
    ///
    /// - Throws: `ArchiveError` if nothing can be encoded under a key here, or if the value is larger than the limits
    ///   allow.
    /// - Complexity: Linear in the length.
    public func encode(_ value: Data, forKey key: String) throws {
        try objectKey(key)
        try write(data: value)
    }

    /// Encodes bytes.
    ///
    /// - Throws: `ArchiveError` if nothing can be encoded under a key here, or if the value is larger than the limits
    ///   allow.
    /// - Complexity: Linear in the length.
    public func encode(_ value: [UInt8], forKey key: String) throws {
        try objectKey(key)
        try write(bytes: value)
    }

    /// Encodes an object: its state the first time, only a reference after that.
    ///
    /// - Throws: `ArchiveError` if nothing can be encoded under a key here. A key used twice is found when the object
    ///   is complete.
    public func encode<T: ObjectCoding>(_ object: T, forKey key: String) throws {
        try objectKey(key)
        do { try write(object: object) } catch { throw fail(error, at: .key(key)) }
    }

    /// Encodes an object or nil.
    ///
    /// - Throws: `ArchiveError` if nothing can be encoded under a key here. A key used twice is found when the object
    ///   is complete.
    public func encode<T: ObjectCoding>(_ object: T?, forKey key: String) throws {
        try objectKey(key)
        guard let object else { return output.byte(Tag.none) }
        do { try write(object: object) } catch { throw fail(error, at: .key(key)) }
    }

    /// Encodes an array of objects.
    ///
    /// - Throws: `ArchiveError` if nothing can be encoded under a key here. A key used twice is found when the object
    ///   is complete.
    /// - Complexity: Linear in the number of objects.
    public func encode<T: ObjectCoding>(_ objects: [T], forKey key: String) throws {
        try objectKey(key)
        do { try write(objects: objects) } catch { throw fail(error, at: .key(key)) }
    }

    /// Encodes any `Codable` value.
    ///
    /// - Throws: `ArchiveError`; its code is `thrownByType` where the value's own code throws.
    /// - Complexity: Linear in the size of the value.
    public func encode<T: Encodable>(_ value: T, forKey key: String) throws {
        try objectKey(key)
        do { try write(value) } catch { throw fail(error, at: .key(key)) }
    }

    /// Encodes a reference to an object that is archived only if something else encodes it unconditionally.
    ///
    /// That may happen before or after; otherwise the reference decodes as nil. Use it for parents, delegates and other
    /// references that do not own the object.
    ///
    /// - Throws: `ArchiveError` if nothing can be encoded under a key here. A key used twice is found when the object
    ///   is complete.
    public func encodeConditional<T: ObjectCoding>(_ object: T?, forKey key: String) throws {
        try objectKey(key)
        guard let object else { return output.byte(Tag.none) }
        if T.self is any _ExternallyCodable.Type { return try write(object) }
        writeConditional(object)
    }

    /// Encodes an object of a class known only when the program runs.
    ///
    /// Decode it with a list of allowed classes.
    ///
    /// - Throws: `ArchiveError` if nothing can be encoded under a key here. A key used twice is found when the object
    ///   is complete.
    public func encodeObject(_ object: (any ObjectCoding)?, forKey key: String) throws {
        try objectKey(key)
        guard let object else { return output.byte(Tag.none) }
        do { try write(any: object) } catch { throw fail(error, at: .key(key)) }
    }

    private func write<T: ObjectCoding>(any object: T) throws { try write(object: object) }

    /// Encodes a C array of scalars: `Int8`...`Int64`, `UInt8`...`UInt64`, `Int`, `UInt`, `Float`, `Double`, `Bool`.
    ///
    /// - Throws: `ArchiveError` if nothing can be encoded under a key here; `unsupported` for other types.
    /// - Complexity: Linear in the number of elements.
    public func encode<T: BitwiseCopyable>(_ values: UnsafeBufferPointer<T>, forKey key: String) throws {
        guard let kind = PackedKind.of(T.self) else {
            throw fail(ArchiveError(.unsupported, "\(T.self) is not a scalar"), at: .key(key))
        }
        try objectKey(key)
        try write(packed: values, kind)
    }
}
