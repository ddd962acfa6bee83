/// A type whose values are stored in a table of objects next to the archive: objects by reference.
///
/// The coders of this library never archive such a value as an instance of a class, even if it is one, and never call its
/// `encode(to:)` or `init(from:)`: they write and read its place in the table. Only the coder of a connection has one.
///
/// For the modules of this package: users conform to a protocol of theirs that refines it.
@_documentation(visibility: internal)
public protocol ExternallyCodable: Codable {
    /// What is written for this value: nearly always the object that is entered into the table.
    ///
    /// - Parameter owner: The object that drives the coder, which tells the value where it goes.
    /// - Throws: If the value cannot go where the coder writes to.
    func external(for owner: AnyObject?) throws -> ExternalValue

    /// The value for an object of the table.
    ///
    /// - Throws: If the object is not one that this type can stand for.
    static func value(ofExternal object: AnyObject, owner: AnyObject?) throws -> Self
}

/// What an `ExternallyCodable` value is written as.
@_documentation(visibility: internal)
public enum ExternalValue {
    /// The object's place in the table.
    case object(AnyObject)
    /// A copy in the archive, in its place.
    case copy(any ObjectCoding)
}

extension ObjectEncoder {
    /// Writes an object's place in the table.
    ///
    /// The same object gets the same place.
    func writeExternal<T: ExternallyCodable>(_ value: T) throws {
        guard allowsExternals else {
            throw fail(ArchiveError(.unsupported, "objects by reference can only be sent over a connection"))
        }
        let object: AnyObject
        do {
            switch try value.external(for: codingOwner) {
            case .object(let found): object = found
            case .copy(let copy): return try writeAnyCopy(copy)
            }
        } catch {
            throw fail(error)
        }
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
    func readExternal<T: ExternallyCodable>(_ type: T.Type) throws -> T {
        guard input.take(Tag.external) else { return try readCopy(type) }
        let index = try input.varint()
        guard index < UInt64(externals.count) else {
            throw externals.isEmpty
                ? ArchiveError(.unsupported, "objects by reference can only be sent over a connection")
                : ArchiveError(.corrupt, "an object by reference that is not in the table")
        }
        return try T.value(ofExternal: externals[Int(index)], owner: codingOwner)
    }

    /// Its owner sent a copy.
    @inline(never)
    private func readCopy<T: ExternallyCodable>(_ type: T.Type) throws -> T {
        guard let coding = type as? any ObjectCoding.Type, input.take(Tag.reference) else {
            throw mismatch("an object by reference")
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
