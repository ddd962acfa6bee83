extension ObjectEncoder {
    /// Begins a record whose values have no keys.
    ///
    /// The keys are positions, written inline: there may be more of them than a shape can have.
    func openSequential(_ record: Unmanaged<TypeRecord>) {
        let variant = record.takeUnretainedValue().bare(.explicit)
        output.fixed(localIndex(variant))
        scope.openSequential(record, variant)
        openExplicit()
    }

    /// Writes the position of a value without key, as its key.
    private func position() throws {
        let key = StoredKey.unkeyed(scope.unkeyed)
        if !scope.takeKey(key) { try append(key: key) }
        scope.unkeyed += 1
    }

    /// Encodes a value or object without key; such values are decoded in the same order.
    ///
    /// In an archive with keys, values without key are stored under their positions, next to the others.
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
        if T.self is any _ExternallyCodable.Type { return try write(object) }
        writeConditional(object)
    }
}
