extension GraphView {
    /// Reads a field.
    ///
    /// Any `Codable` type can be requested: a plain value, a `GraphView` of an object or a value with keys, which is not decoded,
    /// a type to decode whole, or an optional. An optional is nil if the key is missing, too, and a ``Defaulted`` has its default.
    ///
    /// - Parameters:
    ///   - key: The key it was encoded under.
    ///   - type: The type expected.
    /// - Throws: `ArchiveError` if the key is missing or holds another type; the error's path ends in the key.
    /// - Complexity: Linear in the number of fields before it. See `decoded()` for types that are decoded whole.
    @inlinable
    public subscript<Field: Decodable>(_ key: String, as type: Field.Type = Field.self) -> Field {
        get throws {
            // Where the type is known to the compiler, one of these is left.
            if type == Int.self { return unsafeBitCast(try integer(key), to: Field.self) }
            if type == Int64.self { return unsafeBitCast(Int64(try integer(key)), to: Field.self) }
            if type == String.self { return unsafeBitCast(try string(key), to: Field.self) }
            if type == Bool.self { return unsafeBitCast(try bool(key), to: Field.self) }
            if type == Double.self { return unsafeBitCast(try double(key), to: Field.self) }
            return try other(key, type)
        }
    }

    /// A view of an object, or of a value with keys.
    ///
    /// Views of two fields that refer to the same object are equal.
    ///
    /// - Throws: `ArchiveError` if the key is missing or holds another type, or if the object's class does not fit; the
    ///   error's path ends in the key.
    public subscript<Child>(_ key: String, as type: GraphView<Child>.Type = GraphView<Child>.self) -> GraphView<Child> {
        get throws { try required(key) { graph, source in try GraphView<Child>(in: graph, &source) } }
    }

    /// A view of an object, or of a value with keys; nil if the key is missing or holds nil.
    ///
    /// - Throws: `ArchiveError` if the key holds another type, or if the object's class does not fit; the error's path ends
    ///   in the key.
    public subscript<Child>(
        _ key: String, as type: GraphView<Child>?.Type = GraphView<Child>?.self
    ) -> GraphView<Child>? {
        get throws {
            try read(key) { graph, source in
                guard var source, try !source.isNil() else { return nil }
                return try GraphView<Child>(in: graph, &source)
            }
        }
    }

    /// The elements of a list, which are not decoded.
    ///
    /// - Throws: `ArchiveError` if the key is missing or holds another type; the error's path ends in the key.
    public subscript<Element>(
        _ key: String, as type: GraphList<Element>.Type = GraphList<Element>.self
    ) -> GraphList<Element> {
        get throws { try required(key) { graph, source in try GraphList<Element>(in: graph, source) } }
    }

    /// Whether anything was encoded under a key, including nil.
    ///
    /// - Throws: `ArchiveError` if this is no value with keys.
    public func contains(_ key: String) throws -> Bool {
        try read(key) { _, source in source != nil }
    }

    // MARK: Finding

    @inlinable
    func integer(_ key: String) throws -> Int {
        try located { graph, place in
            try graph.quickInteger(key, place, of: Value.self) ?? graph.integer(key, place, of: Value.self)
        }
    }

    @inlinable
    func string(_ key: String) throws -> String {
        try located { graph, place in
            try graph.quickString(key, place, of: Value.self) ?? graph.string(key, place, of: Value.self)
        }
    }

    @inlinable
    func bool(_ key: String) throws -> Bool {
        try located { graph, place in
            try graph.quickBool(key, place, of: Value.self) ?? graph.bool(key, place, of: Value.self)
        }
    }

    @inlinable
    func double(_ key: String) throws -> Double {
        try located { graph, place in
            try graph.quickDouble(key, place, of: Value.self) ?? graph.double(key, place, of: Value.self)
        }
    }

    @usableFromInline
    func other<Field: Decodable>(_ key: String, _ type: Field.Type) throws -> Field {
        try read(key) { graph, source in
            guard let source else { return try Self.missing(type) }
            return try graph.decode(type, source)
        }
    }

    private func required<R>(_ key: String, _ body: (GraphBytes, inout ByteSource) throws -> R) throws -> R {
        try located { graph, place in
            try graph.withRequired(key, place, of: Value.self) { try body(graph, &$0) }
        }
    }

    /// Calls `body` with the bytes of a field; nil if there is none.
    private func read<R>(_ key: String, _ body: (GraphBytes, ByteSource?) throws -> R) throws -> R {
        try located { graph, place in
            try graph.withField(key, place, of: Value.self) { try body(graph, $0) }
        }
    }

    private static func missing<Field>(_ type: Field.Type) throws -> Field {
        if let defaulted = type as? any AnyDefaulted.Type, let value = defaulted.missing as? Field { return value }
        // An optional that is not there was encoded by leaving out its key.
        guard let optional = type as? any AnyOptional.Type, let none = optional.none as? Field else {
            throw ArchiveError(.missingKey, "no value for this key")
        }
        return none
    }
}

extension GraphView {
    /// A view of the value at a source's position, or of the object that it refers to.
    init(in graph: GraphBytes, _ source: inout ByteSource) throws {
        guard Value.self is AnyClass else {
            self.init(graph, try graph.value(&source))
            return
        }
        let place: GraphPlace
        do { place = try graph.referred(&source) } catch let error as ArchiveError where error.code == .typeMismatch {
            throw ArchiveError(.typeMismatch, "expected \(unqualifiedName(of: Value.self)), \(error.message)")
        }
        try graph.expect(Value.self, place.shape)
        self.init(graph, place)
    }
}

extension ByteSource {
    /// Whether the next value is nil.
    fileprivate func isNil() throws -> Bool {
        var source = self
        let tag = try source.byte()
        return try tag == Tag.none || (tag == Tag.conditional && source.fixed(UInt32.self) == .max)
    }
}
