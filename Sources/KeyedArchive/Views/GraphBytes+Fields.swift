extension GraphBytes {
    /// The values at the top of the archive.
    var values: ByteSource { source(top.lowerBound, top.upperBound) }

    /// Where the value of a key begins; nil if there is none.
    @inline(__always)
    func field(_ key: String, _ place: GraphPlace) throws -> ByteSource? {
        if case .value = place.kind { throw noKeys(place) }
        return try withShape(place.shape) { shape in
            guard shape.layout == .keyed, !StoredKey.isReserved(key) else {
                return try otherField(StoredKey.escaped(key), shape, place)
            }
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
            if case .object = place.kind { "an object that is a single value" } else {
                source(place.start, place.end).next.map(Tag.describe) ?? "nothing"
            }
        return ArchiveError(.typeMismatch, "expected keys, found \(found)")
    }

    // MARK: Values

    /// Reads the value at a source's position.
    ///
    /// The most common types need no decoder.
    @inline(__always)
    func read<T: Decodable>(_ type: T.Type, _ source: inout ByteSource) throws -> T {
        if type == Int.self {
            if let small = source.takeSmall() { return cast(Int(small)) }
            if source.next == Tag.integer {
                try source.advance(1)
                return cast(Int(try source.zigzag()))
            }
        } else if type == String.self {
            return cast(try source.stringValue(limits))
        } else if type == Double.self {
            if source.take(Tag.double) { return cast(Double(bitPattern: try source.fixed(UInt64.self))) }
        } else if type == Bool.self {
            if source.take(Tag.isTrue) { return cast(true) }
            if source.take(Tag.isFalse) { return cast(false) }
        } else if type == Int64.self {
            if let small = source.takeSmall() { return cast(Int64(small)) }
        }
        return try decode(type, source)
    }

    /// A value as the type that it is known to have.
    @inline(__always)
    private func cast<From, To>(_ value: From) -> To {
        withUnsafePointer(to: value) { UnsafeRawPointer($0).assumingMemoryBound(to: To.self).pointee }
    }
}
