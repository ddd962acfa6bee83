/// Writes the values of a `Codable` type under its coding keys.
struct KeyedValueEncoder<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let encoder: ArchiveValueEncoder
    /// The coder's state, kept alive by `encoder`; access needs no reference counting.
    private let storage: UnsafeMutablePointer<EncoderState>
    /// Whether values go to the coder's output rather than to a deferred value.
    let isDirect: Bool

    init(encoder: ArchiveValueEncoder) {
        self.encoder = encoder
        storage = encoder.coder.storage
        isDirect = encoder.deferred == nil
    }

    var coder: ObjectEncoder { encoder.coder }

    /// Where the coder writes, in place.
    @inline(__always)
    var output: ByteSink {
        _read { yield storage.pointee.out }
        nonmutating _modify { yield &storage.pointee.out }
    }

    var codingPath: [any CodingKey] { encoder.codingPath }

    /// Whether the key is the predicted one; if so, the caller must write its value next.
    @inline(__always)
    func takes(_ key: Key) -> Bool {
        guard isDirect, storage.pointee.scope.serial == encoder.serial,
            storage.pointee.scope.isPredicted(key.stringValue)
        else { return false }
        storage.pointee.scope.advance()
        return true
    }

    /// Writes the key and, with `body`, its value, which cannot fail halfway.
    @inline(__always)
    func at(_ key: Key, _ value: @autoclosure () -> Any, _ body: () throws -> Void) throws {
        do {
            try encoder.inScope {
                try coder.key(key.stringValue)
                try body()
            }
        } catch {
            throw encoder.exposed(error, value(), key)
        }
    }

    /// Writes the key and, with `body`, its value; takes both back if that fails.
    @inline(__always)
    private func attempt(_ key: Key, _ value: @autoclosure () -> Any, _ body: () throws -> Void) throws {
        do {
            try encoder.inScope {
                let mark = coder.mark
                try coder.key(key.stringValue)
                do { try body() } catch {
                    let error = coder.fail(error, at: .key(key.stringValue))
                    coder.takeBack(to: mark)
                    coder.scope.retreat()
                    throw error
                }
            }
        } catch {
            throw encoder.exposed(error, value(), key)
        }
    }

    mutating func encodeNil(forKey key: Key) throws {
        try at(key, Any?.none as Any) { coder.output.byte(Tag.none) }
    }

    mutating func encode(_ value: String, forKey key: Key) throws {
        try attempt(key, value) { try coder.write(string: value) }
    }

    mutating func encode<T: Encodable>(_ value: T, forKey key: Key) throws {
        try attempt(key, value) { try coder.write(value) }
    }

    mutating func encodeIfPresent<T: Encodable>(_ value: T?, forKey key: Key) throws {
        guard let value else { return }
        guard T.self is any AnyOptional.Type else { return try encode(value, forKey: key) }
        // An optional in an optional: nil inside must not be taken for nil outside.
        try attempt(key, value) {
            try coder.nested {
                coder.output.byte(Tag.some)
                try coder.write(value)
            }
        }
    }

    private func deferred(_ key: String, isContainer: Bool) -> ArchiveValueEncoder {
        do {
            let value = try encoder.inScope {
                coder.deferValue(key: key, isContainer: isContainer, in: encoder.deferred)
            }
            return ArchiveValueEncoder(coder: coder, serial: value.serial, deferred: value)
        } catch {
            return ArchiveValueEncoder(coder: coder, serial: -1, deferred: nil)
        }
    }

    mutating func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type, forKey key: Key
    ) -> KeyedEncodingContainer<Nested> {
        deferred(key.stringValue, isContainer: true).container(keyedBy: type)
    }

    mutating func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
        deferred(key.stringValue, isContainer: true).unkeyedContainer()
    }

    mutating func superEncoder() -> any Encoder { deferred("super", isContainer: false) }

    mutating func superEncoder(forKey key: Key) -> any Encoder { deferred(key.stringValue, isContainer: false) }
}
