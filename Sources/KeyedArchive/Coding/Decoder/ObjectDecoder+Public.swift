#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

extension ObjectDecoder {
    @inline(__always)
    private func value<R>(_ key: String, _ body: () throws -> R) throws -> R {
        guard try locate(key) else { throw missing(key) }
        do { return try body() } catch { throw failed(error, key) }
    }

    /// Whether anything was encoded under the key, including nil.
    public func contains(_ key: String) -> Bool { contains(located: key) }

    /// Decodes an integer.
    ///
    /// - Throws: `ArchiveError` if the key is missing or holds another type; the error's path ends in the key.
    public func decode(_ type: Int.Type, forKey key: String) throws -> Int {
        try value(key) { try readInteger(type) }
    }

    /// Decodes an integer.
    ///
    /// - Throws: `ArchiveError` if the key is missing or holds another type; the error's path ends in the key.
    public func decode(_ type: Int64.Type, forKey key: String) throws -> Int64 {
        try value(key) { try readInteger(type) }
    }

    /// Decodes an integer.
    ///
    /// - Throws: `ArchiveError` if the key is missing or holds another type; the error's path ends in the key.
    public func decode(_ type: Int32.Type, forKey key: String) throws -> Int32 {
        try value(key) { try readInteger(type) }
    }

    /// Decodes a Boolean.
    ///
    /// - Throws: `ArchiveError` if the key is missing or holds another type; the error's path ends in the key.
    public func decode(_ type: Bool.Type, forKey key: String) throws -> Bool {
        try value(key) { try readBool() }
    }

    /// Decodes a number; an integer is accepted if it is exact.
    ///
    /// - Throws: `ArchiveError` if the key is missing or holds another type; the error's path ends in the key.
    public func decode(_ type: Double.Type, forKey key: String) throws -> Double {
        try value(key) { try readDouble() }
    }

    /// Decodes a number; a `Double` or integer is accepted if it is exact.
    ///
    /// - Throws: `ArchiveError` if the key is missing or holds another type; the error's path ends in the key.
    public func decode(_ type: Float.Type, forKey key: String) throws -> Float {
        try value(key) { try readFloat() }
    }

    /// Decodes a string.
    ///
    /// - Throws: `ArchiveError` if the key is missing or holds another type; the error's path ends in the key.
    public func decode(_ type: String.Type, forKey key: String) throws -> String {
        try value(key) { try readString() }
    }

    /// Decodes bytes.
    ///
    /// In messages, data of 16 KiB or more is a slice of the received bytes, which stay in memory as long as the slice.
    ///
    /// - Throws: `ArchiveError` if the key is missing or holds another type; the error's path ends in the key.
    public func decode(_ type: Data.Type, forKey key: String) throws -> Data {
        try value(key) { try readData() }
    }

    /// Decodes bytes.
    ///
    /// - Throws: `ArchiveError` if the key is missing or holds another type; the error's path ends in the key.
    public func decode(_ type: [UInt8].Type, forKey key: String) throws -> [UInt8] {
        try value(key) { try readByteList() }
    }

    /// Decodes an object of this class, or of a class that is allowed in its place.
    ///
    /// - Throws: `ArchiveError` if the key is missing or holds another type; the error's path ends in the key. Its code
    ///   is `thrownByType` where the type's own code throws.
    public func decode<T: ObjectCoding>(_ type: T.Type, forKey key: String) throws -> T {
        try value(key) { try readObject(type) }
    }

    /// Decodes an array of objects.
    ///
    /// - Throws: `ArchiveError` if the key is missing or holds another type; the error's path ends in the key. Its code
    ///   is `thrownByType` where the type's own code throws.
    /// - Complexity: Linear in the number of objects.
    public func decode<T: ObjectCoding>(_ type: [T].Type, forKey key: String) throws -> [T] {
        try value(key) { try readObjects(T.self) }
    }

    /// Decodes any `Codable` value.
    ///
    /// - Throws: `ArchiveError` if the key is missing or holds another type; the error's path ends in the key. Its code
    ///   is `thrownByType` where the type's own code throws.
    /// - Complexity: Linear in the size of the value.
    public func decode<T: Decodable>(_ type: T.Type, forKey key: String) throws -> T {
        try value(key) { try read(type) }
    }

    /// Decodes any `Codable` value or object; nil if the key is missing or holds nil.
    ///
    /// - Throws: `ArchiveError` if the key holds another type; the error's path ends in the key.
    /// - Complexity: Linear in the size of the value.
    public func decodeIfPresent<T: Decodable>(_ type: T.Type, forKey key: String) throws -> T? {
        guard try locate(key) else { return nil }
        do { return try readIfPresent(type) } catch { throw failed(error, key) }
    }

    /// Decodes any `Codable` value or object; the default if the key is missing or holds nil.
    ///
    /// - Throws: What `value` throws, and `ArchiveError` if the key holds another type; its path ends in the key.
    public func decode<T: Decodable>(
        _ type: T.Type, forKey key: String, default value: @autoclosure () throws -> T
    ) throws -> T {
        try decodeIfPresent(type, forKey: key) ?? value()
    }

    /// Decodes a value that may contain only objects of the listed classes and of the requested type.
    ///
    /// A nested list must not name classes that the outer one does not.
    ///
    /// - Throws: `ArchiveError` if the key is missing or holds another type; the error's path ends in the key. Its code
    ///   is `classNotAllowed` for another class, and for a wider list.
    public func decode<T: Decodable>(
        _ type: T.Type, forKey key: String, allowing classes: [any (AnyObject & Decodable).Type]
    ) throws -> T {
        try value(key) { try allowing(listed(type, classes)) { try read(type) } }
    }

    /// Decodes a value like `decode(_:forKey:allowing:)`; nil if the key is missing or holds nil.
    ///
    /// - Throws: `ArchiveError` if the key holds another type; the error's path ends in the key. Its code is
    ///   `classNotAllowed` for another class, and for a wider list.
    public func decodeIfPresent<T: Decodable>(
        _ type: T.Type, forKey key: String, allowing classes: [any (AnyObject & Decodable).Type]
    ) throws -> T? {
        guard try locate(key) else { return nil }
        do {
            return try readNil() ? nil : try allowing(listed(type, classes)) { try read(type) }
        } catch {
            throw failed(error, key)
        }
    }

    private func listed(
        _ type: any Decodable.Type, _ classes: [any (AnyObject & Decodable).Type]
    ) -> [any (AnyObject & Decodable).Type] {
        guard let expected = type as? any (AnyObject & Decodable).Type else { return classes }
        return classes + [expected]
    }

    /// Decodes an object of one of the classes in the list, nil if nil was encoded.
    ///
    /// - Throws: `ArchiveError` if the key is missing or holds another type; the error's path ends in the key. Its code
    ///   is `classNotAllowed` for another class.
    public func decodeObject(
        forKey key: String, allowing classes: [any ObjectCoding.Type]
    ) throws -> (any ObjectCoding)? {
        try value(key) { try allowing(classes) { try readAny(classes) } }
    }

    /// Decodes a C array of scalars.
    ///
    /// - Throws: `ArchiveError` if the key is missing or holds another type; the error's path ends in the key. Its code
    ///   is `unsupported` for a type that is not a scalar.
    /// - Complexity: Linear in the number of elements.
    public func decodeScalars<T: BitwiseCopyable & Codable>(_ type: T.Type, forKey key: String) throws -> [T] {
        guard PackedKind.of(type) != nil else { throw ArchiveError(.unsupported, "\(type) is not a scalar") }
        return try value(key) { try read([T].self) }
    }
}
