/// A type whose values travel by reference: as places in a table of objects next to the archive.
///
/// The coders of this library write and read only a value's place in the table. They never archive the value as an
/// instance of its class, and never call its `encode(to:)` or `init(from:)`. Only a connection's coder has a table.
///
/// For the modules of this package: users conform to a public protocol that refines this one.
@_documentation(visibility: internal)
public protocol _ExternallyCodable: Codable {
    /// What to write for this value: usually the object to enter into the table.
    ///
    /// - Parameter owner: The object that uses the coder; it tells the value where it is sent.
    /// - Throws: If the value cannot be sent there.
    func _external(for owner: AnyObject?) throws -> _ExternalValue

    /// The value for an object of the table.
    ///
    /// - Throws: If this type cannot represent the object.
    static func _value(ofExternal object: AnyObject, owner: AnyObject?) throws -> Self
}

/// The way to write an `ExternallyCodable` value.
@_documentation(visibility: internal)
public enum _ExternalValue {
    /// The object's place in the table.
    case object(AnyObject)
    /// A copy in the archive, in its place.
    case copy(any ObjectCoding)
}

extension ObjectEncoder {
    /// Writes an object's place in the table.
    ///
    /// The same object gets the same place.
    func writeExternal<T: _ExternallyCodable>(_ value: T) throws {
        guard allowsExternals else {
            throw fail(ArchiveError(.unsupported, "objects by reference can only be sent over a connection"))
        }
        let object: AnyObject
        do {
            switch try value._external(for: codingOwner) {
            case .object(let found): object = found
            case .copy(let copy): return try writeAnyCopy(copy)
            }
        } catch {
            throw fail(error)
        }
        try writePlace(of: object)
    }

    /// Writes the place of an object, which it gets now unless it has one.
    func writePlace(of object: AnyObject) throws {
        let index: Int
        if let known = tables.place(ofExternal: object) {
            index = known
        } else {
            guard tables.externals.count < limits.references else {
                throw fail(ArchiveError(.limit, "more than \(limits.references) objects by reference"))
            }
            index = tables.append(external: object)
        }
        output.byte(Tag.external)
        output.varint(UInt64(index))
    }

    private func writeAnyCopy<T: ObjectCoding>(_ object: T) throws { try writeCopy(of: object) }
}

extension ObjectDecoder {
    /// Reads an object's place in the table, and the value for it.
    func readExternal<T: _ExternallyCodable>(_ type: T.Type) throws -> T {
        guard input.next == Tag.external else { return try readCopy(type) }
        return try T._value(ofExternal: try readPlace(), owner: codingOwner)
    }

    /// Reads the place of an object, which comes next, and finds the object.
    func readPlace() throws -> AnyObject {
        try input.advance(1)
        let index = try input.varint()
        guard index < UInt64(externals.count) else {
            throw externals.isEmpty
                ? ArchiveError(.unsupported, "objects by reference can only be sent over a connection")
                : ArchiveError(.corrupt, "an object by reference that is not in the table")
        }
        return externals[Int(index)]
    }

    /// Reads a value that its owner sent as a copy.
    @inline(never)
    private func readCopy<T: _ExternallyCodable>(_ type: T.Type) throws -> T {
        guard let coding = type as? any ObjectCoding.Type, input.take(Tag.reference) else {
            throw mismatch("an object by reference", type)
        }
        guard let copy = try readAnyCopy(coding) as? T else {
            throw ArchiveError(.typeMismatch, "expected \(T.self), found another class")
        }
        return copy
    }

    private func readAnyCopy<T: ObjectCoding>(_ type: T.Type) throws -> T {
        try object(try input.varint(), as: type)
    }
}
