/// Fields that need little to be read: nothing out of the ordinary is on the way, and the value is short.
///
/// These run no code of users, free no objects and throw nothing, which the compiler sees or is told: a caller that reads
/// a field this way does not count a reference to the bytes. They return nil for everything else.
extension GraphBytes {
    /// An integer below 128.
    @usableFromInline
    @_effects(releasenone)
    func quickInteger(_ key: String, _ place: GraphPlace, of type: Any.Type) -> Int? {
        guard var source = quickField(key, place, of: type), let small = source.takeSmall() else { return nil }
        return Int(small)
    }

    @usableFromInline
    @_effects(releasenone)
    func quickBool(_ key: String, _ place: GraphPlace, of type: Any.Type) -> Bool? {
        guard var source = quickField(key, place, of: type) else { return nil }
        if source.take(Tag.isTrue) { return true }
        return source.take(Tag.isFalse) ? false : nil
    }

    @usableFromInline
    @_effects(releasenone)
    func quickDouble(_ key: String, _ place: GraphPlace, of type: Any.Type) -> Double? {
        guard var source = quickField(key, place, of: type), source.take(Tag.double) else { return nil }
        return (try? source.fixed(UInt64.self)).map(Double.init(bitPattern:))
    }

    /// A string of at most 63 bytes.
    @usableFromInline
    @_effects(releasenone)
    func quickString(_ key: String, _ place: GraphPlace, of type: Any.Type) -> String? {
        guard var source = quickField(key, place, of: type), let length = source.takeShortString() else { return nil }
        return try? source.text(length)
    }

    /// Where the value of a key begins.
    @inline(__always)
    private func quickField(_ key: String, _ place: GraphPlace, of type: Any.Type) -> ByteSource? {
        guard place.kind == .object, isKnown(type, place.shape) else { return nil }
        return withShape(place.shape) { shape in
            guard shape.hasPlainKeys, var left = shape.samePosition(as: key) else { return nil }
            var source = source(place.start, place.end)
            while left > 0, source.skipShort() { left &-= 1 }
            return left == 0 ? source : nil
        }
    }
}
