extension GraphBytes {
    /// Where the value of a key begins; nil if there is none.
    @inline(__always)
    func field(_ key: String, _ place: GraphPlace) throws -> ByteSource? {
        guard place.kind == .object || place.kind == .record else { throw noKeys(place) }
        return try withShape(place.shape) { shape in
            guard shape.hasPlainKeys else { return try otherField(StoredKey.escaped(key), shape, place) }
            guard let position = shape.position(of: key) else { return nil }
            return try value(position, place)
        }
    }

    /// The value at a position among those of a keyed shape.
    @inline(__always)
    private func value(_ position: Int, _ place: GraphPlace) throws -> ByteSource {
        var source = source(place.start, place.end)
        for _ in 0..<position { try skip(&source) }
        return source
    }

    /// As `field`, for all layouts and keys in their stored form.
    @inline(never)
    private func otherField(_ key: String, _ shape: Shape, _ place: GraphPlace) throws -> ByteSource? {
        switch shape.layout {
        case .keyed: return try shape.position(of: key).map { try value($0, place) }
        case .single: throw noKeys(place)
        case .explicit:
            var source = source(place.start, place.end)
            for _ in 0..<(try source.length()) {
                if try source.stringValue(limits) == key { return source }
                try skip(&source)
            }
            return nil
        }
    }

    @inline(never)
    private func noKeys(_ place: GraphPlace) -> ArchiveError {
        let found =
            if place.kind == .object { "an object that is a single value" } else {
                source(place.start, place.end).next.map(Tag.describe) ?? "nothing"
            }
        return ArchiveError(.typeMismatch, "expected keys, found \(found)")
    }

    /// Calls `body` with the bytes of a field; nil if there is none.
    ///
    /// - Parameter type: The type that a view is of.
    @inline(__always)
    func withField<R>(
        _ key: String, _ place: GraphPlace, of type: Any.Type, _ body: (ByteSource?) throws -> R
    ) throws -> R {
        do {
            if place.kind == .object { try expect(type, place.shape) }
            return try body(try field(key, place))
        } catch {
            throw ArchiveError.wrapping(error, at: .key(key))
        }
    }

    @inline(__always)
    func withRequired<R>(
        _ key: String, _ place: GraphPlace, of type: Any.Type, _ body: (inout ByteSource) throws -> R
    ) throws -> R {
        try withField(key, place, of: type) { source in
            guard var source else { throw ArchiveError(.missingKey, "no value for this key") }
            return try body(&source)
        }
    }

    // MARK: The most common types, which need no decoder

    @usableFromInline
    func integer(_ key: String, _ place: GraphPlace, of type: Any.Type) throws -> Int {
        try withRequired(key, place, of: type) { source in
            guard source.next == Tag.integer else { return try decode(Int.self, source) }
            try source.advance(1)
            return Int(try source.zigzag())
        }
    }

    @usableFromInline
    func bool(_ key: String, _ place: GraphPlace, of type: Any.Type) throws -> Bool {
        try withRequired(key, place, of: type) { source in
            if source.take(Tag.isTrue) { return true }
            return source.take(Tag.isFalse) ? false : try decode(Bool.self, source)
        }
    }

    @usableFromInline
    func double(_ key: String, _ place: GraphPlace, of type: Any.Type) throws -> Double {
        try withRequired(key, place, of: type) { source in
            guard source.take(Tag.double) else { return try decode(Double.self, source) }
            return Double(bitPattern: try source.fixed(UInt64.self))
        }
    }

    @usableFromInline
    func string(_ key: String, _ place: GraphPlace, of type: Any.Type) throws -> String {
        try withRequired(key, place, of: type) { try $0.stringValue(limits) }
    }
}
