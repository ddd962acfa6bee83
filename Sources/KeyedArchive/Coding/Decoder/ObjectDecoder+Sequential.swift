extension ObjectDecoder {
    /// Moves to the next value that was encoded without key; returns its position.
    private func next() throws -> Int {
        let number = frame.unkeyed
        guard frame.layout == .keyed, try move(to: StoredKey.unkeyed(number)) else {
            let isKeyed = number == 0 && frame.count > 0
            let what = isKeyed ? "the values here have keys, and are not in order" : "no more values in order"
            throw ArchiveError.wrapping(ArchiveError(.missingKey, what), at: .index(number))
        }
        frame.unkeyed += 1
        return number
    }

    /// Whether all values that were encoded without key have been decoded.
    public var isAtEnd: Bool {
        !contains(stored: StoredKey.unkeyed(frame.unkeyed))
    }

    /// Decodes the next value or object that was encoded without key.
    ///
    /// - Parameter type: The type that was encoded there; another type is an error.
    /// - Throws: `ArchiveError`, whose path ends in the position of the value.
    public func decode<T: Decodable>(_ type: T.Type) throws -> T {
        let number = try next()
        do { return try read(type) } catch { throw failed(error, at: .index(number)) }
    }

    /// Decodes the next value or object that was encoded without key; nil if nil was encoded.
    ///
    /// - Throws: `ArchiveError`, whose path ends in the position of the value.
    public func decodeIfPresent<T: Decodable>(_ type: T.Type) throws -> T? {
        let number = try next()
        do { return try readIfPresent(type) } catch { throw failed(error, at: .index(number)) }
    }

    /// Decodes the next value, an object of one of the classes in the list; nil if nil was encoded.
    ///
    /// - Throws: `ArchiveError`, whose path ends in the position of the value; `classNotAllowed` for another class.
    public func decodeObject(allowing classes: [any ObjectCoding.Type]) throws -> (any ObjectCoding)? {
        let number = try next()
        do { return try allowing(classes) { try readAny(classes) } } catch { throw failed(error, at: .index(number)) }
    }

    /// Decodes the next value as a reference that may lead back to the object being made, like
    /// `decodeReference(_:forKey:_:)`.
    ///
    /// - Throws: `ArchiveError`, whose path ends in the position of the value.
    public func decodeReference<T: ObjectCoding>(_ type: T.Type, _ deliver: @escaping (T) -> Void) throws {
        let number = try next()
        do { try readReference(type, StoredKey.unkeyed(number), deliver) } catch {
            throw failed(error, at: .index(number))
        }
    }
}
