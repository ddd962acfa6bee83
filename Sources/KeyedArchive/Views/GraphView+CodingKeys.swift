extension GraphView {
    /// Reads a field by a coding key, as by the key's string.
    ///
    /// - Throws: `ArchiveError` if the key is missing or holds another type; the error's path ends in the key.
    @inlinable
    public subscript<Field: Decodable>(_ key: some CodingKey, as type: Field.Type = Field.self) -> Field {
        get throws { try self[key.stringValue, as: type] }
    }

    /// A view of an object, or of a value with keys, by a coding key.
    ///
    /// - Throws: `ArchiveError` if the key is missing or holds another type, or if the object's class does not fit; the
    ///   error's path ends in the key.
    public subscript<Child>(
        _ key: some CodingKey, as type: GraphView<Child>.Type = GraphView<Child>.self
    ) -> GraphView<Child> {
        get throws { try self[key.stringValue, as: type] }
    }

    /// A view of an object, or of a value with keys, by a coding key; nil if the key is missing or holds nil.
    ///
    /// - Throws: `ArchiveError` if the key holds another type, or if the object's class does not fit; the error's path ends
    ///   in the key.
    public subscript<Child>(
        _ key: some CodingKey, as type: GraphView<Child>?.Type = GraphView<Child>?.self
    ) -> GraphView<Child>? {
        get throws { try self[key.stringValue, as: type] }
    }

    /// The elements of a list, which are not decoded, by a coding key.
    ///
    /// - Throws: `ArchiveError` if the key is missing or holds another type; the error's path ends in the key.
    public subscript<Element>(
        _ key: some CodingKey, as type: GraphList<Element>.Type = GraphList<Element>.self
    ) -> GraphList<Element> {
        get throws { try self[key.stringValue, as: type] }
    }

    /// Whether anything was encoded under a coding key, including nil.
    ///
    /// - Throws: `ArchiveError` if this is no value with keys.
    public func contains(_ key: some CodingKey) throws -> Bool { try contains(key.stringValue) }
}
