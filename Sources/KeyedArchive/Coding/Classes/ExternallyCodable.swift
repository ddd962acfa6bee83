/// A type whose values stand beside an archive, in a table of objects, instead of in it: objects by reference.
///
/// The coders of this library never archive such a value as an instance of a class, even if it is one, and never call its
/// `encode(to:)` or `init(from:)`: they write and read its place in the table. Only the coder of a connection has one.
public protocol ExternallyCodable: Codable {
    /// What is written for this value: nearly always the object that is entered into the table.
    ///
    /// - Parameter owner: What drives the coder, for the value to find out where it goes.
    func external(for owner: AnyObject?) throws -> ExternalValue

    /// The value for an object of the table.
    ///
    /// - Throws: If the object is not one that this type can stand for.
    static func value(ofExternal object: AnyObject, owner: AnyObject?) throws -> Self
}

/// What an `ExternallyCodable` value is written as.
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
        let s = state
        let index: Int
        if let known = s.pointee.place(ofExternal: object) {
            index = known
        } else {
            guard s.pointee.externals.count < limits.references else {
                throw fail(ArchiveError(.limit, "more than \(limits.references) objects by reference"))
            }
            index = s.pointee.externals.count
            s.pointee.externals.append(object)
            if index >= EncoderState.fewExternals { s.pointee.externalIndexes[ObjectIdentifier(object)] = index }
        }
        s.pointee.out.byte(Tag.external)
        s.pointee.out.varint(UInt64(index))
    }

    private func writeAnyCopy<T: ObjectCoding>(_ object: T) throws { try writeCopy(of: object) }
}

extension ObjectDecoder {
    /// Reads an object's place in the table, and the value for it.
    func readExternal<T: ExternallyCodable>(_ type: T.Type) throws -> T {
        let tag = try state.pointee.frame.source.byte()
        guard tag == Tag.external else { return try readCopy(type, tag) }
        let index = try state.pointee.frame.source.varint()
        guard index < UInt64(externals.count) else {
            throw externals.isEmpty
                ? ArchiveError(.unsupported, "objects by reference can only be sent over a connection")
                : ArchiveError(.corrupt, "an object by reference that is not in the table")
        }
        return try T.value(ofExternal: externals[Int(index)], owner: codingOwner)
    }

    /// Its owner sent a copy.
    @inline(never)
    private func readCopy<T: ExternallyCodable>(_ type: T.Type, _ tag: UInt8) throws -> T {
        guard tag == Tag.reference, let coding = type as? any ObjectCoding.Type else {
            throw ArchiveError(.typeMismatch, "expected an object by reference, found \(Tag.describe(tag))")
        }
        guard let copy = try readAnyCopy(coding) as? T else {
            throw ArchiveError(.typeMismatch, "expected \(T.self), found another class")
        }
        return copy
    }

    private func readAnyCopy<T: ObjectCoding>(_ type: T.Type) throws -> T {
        try object(try state.pointee.frame.source.varint(), as: type)
    }
}
