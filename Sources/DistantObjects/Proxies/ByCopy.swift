public import KeyedArchive

/// Sends one argument or result by copy, although its type goes by reference.
///
/// It leaves no trace on the wire: the receiver declares the plain type. The class must be `ObjectCoding`.
public struct ByCopy<Object: ObjectCoding>: Codable {
    /// The object that is copied.
    public let object: Object

    /// Marks the object to be copied.
    public init(_ object: Object) {
        self.object = object
    }

    /// Archives the object's content.
    ///
    /// - Throws: `ConnectionError.notEncodable` under other encoders; what the object's own code throws.
    public func encode(to encoder: any Encoder) throws {
        guard let encoder = encoder as? ArchiveValueEncoder else {
            throw ConnectionError(.notEncodable, "ByCopy can only be used in a message or an archive")
        }
        try encoder.encodeObjectInPlace(object)
    }

    /// Reads a copy.
    ///
    /// - Throws: `ConnectionError.wrongArgument` under other decoders; what the object's own code throws.
    public init(from decoder: any Decoder) throws {
        guard let decoder = decoder as? ArchiveValueDecoder else {
            throw ConnectionError(.wrongArgument, "ByCopy can only be used in a message or an archive")
        }
        object = try decoder.decodeObjectInPlace(Object.self)
    }
}

/// Sends one argument or result by reference, without a call to its `replacementObject(for:)`.
///
/// It leaves no trace on the wire: the receiver declares `DistantObject`, or the plain type in the object's own process.
public struct ByReference<Object: Vendable>: _ByReferenceCodable {
    /// The object that is referred to.
    public let object: Object

    /// Marks the object to be sent by reference.
    public init(_ object: Object) {
        self.object = object
    }

    /// The object that is entered into the message's table of references.
    ///
    /// - Throws: `ConnectionError.notEncodable` where there is no connection.
    public func _external(for owner: AnyObject?) throws -> _ExternalValue {
        guard let port = owner as? PortCoder else { throw ConnectionError.needsConnection(Object.self) }
        return .object(try port.vended(object))
    }

    /// The object itself, in its own process.
    ///
    /// - Throws: What `Object` throws if the object is none of its own.
    public static func _value(ofExternal object: AnyObject, owner: AnyObject?) throws -> ByReference<Object> {
        ByReference(try Object._value(ofExternal: object, owner: owner))
    }
}

// Both are invisible to the peer.

extension ByCopy: DescribedType {
    static var typeDescription: TypeDescription { TypeDescription(.value, typeName(Object.self)) }
}

extension ByReference: DescribedType {
    static var typeDescription: TypeDescription { TypeDescription.of(Object.self) }
}
