extension ObjectEncoder {
    /// Begins a record whose values have no keys.
    ///
    /// The keys, which are positions, stand in the record: there may be more of them than a shape has room for.
    func openSequential(_ record: Unmanaged<TypeRecord>) {
        let variant = record.takeUnretainedValue().bare(.explicit)
        output.fixed(localIndex(variant))
        scope.openSequential(record, variant)
        openExplicit()
    }

    /// Writes the key of a value that has none: its position.
    private func position() throws {
        let key = StoredKey.unkeyed(scope.unkeyed)
        if !scope.takeKey(key) { try append(key: key) }
        scope.unkeyed += 1
    }

    /// Encodes a value or object without key; it is decoded in the order encoded.
    ///
    /// In an archive with keys such values are stored together with those with keys, under their positions.
    /// - Parameter value: Any `Codable` value, or an object.
    /// - Throws: `ArchiveError`, and what the value's own code throws.
    public func encode<T: Encodable>(_ value: T) throws {
        let number = scope.unkeyed
        try position()
        do { try write(value) } catch { throw fail(error, at: .index(number)) }
    }

    /// Encodes without key a reference to an object that is archived only if something else encodes it unconditionally.
    ///
    /// - Throws: `ArchiveError` if nothing can be encoded here.
    public func encodeConditional<T: ObjectCoding>(_ object: T?) throws {
        try position()
        guard let object else { return output.byte(Tag.none) }
        if T.self is any ExternallyCodable.Type { return try write(object) }
        writeConditional(object)
    }
}
