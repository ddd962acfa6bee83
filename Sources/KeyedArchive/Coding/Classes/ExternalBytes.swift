#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// A type whose values are bytes that need not travel in the archive: they may be a place in a table of objects next to it.
///
/// An archive holds them like a `Data`, and they are read from any value of bytes. Only a connection's coder has a table.
///
/// For the modules of this package.
@_documentation(visibility: internal)
public protocol _ExternalByteCodable: Codable {
    /// What to write for this value.
    ///
    /// - Parameter owner: The object that uses the coder; it tells the value where it is sent.
    func _externalBytes(for owner: AnyObject?) -> _ExternalBytes

    /// The value for an object of the table.
    ///
    /// - Throws: If the object stands for no bytes.
    static func _value(ofExternal object: AnyObject) throws -> Self

    /// The value for bytes of the archive.
    init(_ bytes: Data)
}

/// The way to write an `ExternalByteCodable` value.
@_documentation(visibility: internal)
public enum _ExternalBytes {
    /// The object's place in the table.
    case place(any _ExternalByteObject)
    /// Its bytes.
    case bytes(any _ExternalByteObject)
}

/// An object that stands for bytes.
///
/// In a table, it can also be read as a `Data` or an array.
@_documentation(visibility: internal)
public protocol _ExternalByteObject: AnyObject {
    /// Calls the closure with the bytes.
    ///
    /// More than a few of them stay where they are as long as the object lives. They may change at any time: they have to be
    /// copied once, and checked then.
    func withBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result
}

extension ObjectEncoder {
    /// Writes bytes, or their place in the table.
    func writeBytes<T: _ExternalByteCodable>(of value: T) throws {
        switch value._externalBytes(for: codingOwner) {
        case .place(let object) where allowsExternals: try writePlace(of: object)
        case .place(let object), .bytes(let object): object.withBytes { write(bytes: $0, keptBy: object) }
        }
    }
}

extension ObjectDecoder {
    /// Reads bytes, or their place in the table.
    func readBytes<T: _ExternalByteCodable>(of type: T.Type) throws -> T {
        guard input.next == Tag.external else { return T(try readData()) }
        return try T._value(ofExternal: try readPlace())
    }

    /// The object of the table that stands for the bytes that come next; nil if they are in the archive.
    @inline(__always)
    func readExternalBytes() throws -> (any _ExternalByteObject)? {
        // Few messages have a table.
        guard !externals.isEmpty, input.next == Tag.external else { return nil }
        return try readByteObject()
    }

    @inline(never)
    private func readByteObject() throws -> any _ExternalByteObject {
        let start = input.position
        guard let object = try readPlace() as? any _ExternalByteObject else {
            input.seek(to: start)
            throw mismatch("Data", Data.self)
        }
        return object
    }
}
