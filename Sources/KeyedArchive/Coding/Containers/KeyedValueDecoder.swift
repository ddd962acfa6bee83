/// Reads the values of a `Codable` type by its coding keys.
struct KeyedValueDecoder<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let decoder: ArchiveValueDecoder
    /// The coder's state, kept alive by `decoder`; access needs no reference counting.
    private let storage: UnsafeMutablePointer<DecoderState>
    /// Whether values are read at the coder's current position rather than in a detached frame.
    let isDirect: Bool

    init(decoder: ArchiveValueDecoder) {
        self.decoder = decoder
        storage = decoder.coder.storage
        isDirect = decoder.detached == nil
    }

    var coder: ObjectDecoder { decoder.coder }

    /// The open frame, in place.
    @inline(__always)
    private var frame: DecoderFrame {
        _read { yield storage.pointee.frame }
        nonmutating _modify { yield &storage.pointee.frame }
    }

    var codingPath: [any CodingKey] { decoder.codingPath }

    var allKeys: [Key] {
        let names = try? decoder.inFrame { coder.frame.storedKeys.map(StoredKey.unescaped) }
        return (names ?? []).compactMap { Key(stringValue: $0) }
    }

    func contains(_ key: Key) -> Bool {
        (try? decoder.inFrame { coder.contains(located: key.stringValue) }) ?? false
    }

    /// Reads an integer below 128 if the key comes next; otherwise reads nothing and returns nil.
    @inline(__always)
    func small(_ key: Key) -> UInt8? {
        guard isDirect, frame.serial == decoder.serial, let number = frame.nextSmall(key.stringValue) else {
            return nil
        }
        frame.takeSmall()
        return number
    }

    @inline(__always)
    func at<R>(_ key: Key, _ body: () throws -> R) throws -> R {
        do {
            return try decoder.inFrame {
                let name = key.stringValue
                guard try coder.locate(name) else { throw coder.missing(name) }
                do { return try body() } catch { throw coder.failed(error, name) }
            }
        } catch {
            throw decoder.exposed(error, key)
        }
    }

    func decodeNil(forKey key: Key) throws -> Bool {
        try at(key) {
            // A value other than nil is not consumed: the caller reads it next.
            var ahead = coder.input
            guard try ahead.takeNil() else {
                coder.frame.untake()
                return false
            }
            coder.input = ahead
            return true
        }
    }

    func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T {
        do {
            return try decoder.inFrame {
                let name = key.stringValue
                guard try coder.locate(name) else { return try missing(type, name) }
                do { return try coder.read(type) } catch { throw coder.failed(error, name) }
            }
        } catch {
            throw decoder.exposed(error, key)
        }
    }

    /// What a type has where its key is missing.
    @inline(never)
    private func missing<T>(_ type: T.Type, _ key: String) throws -> T {
        guard let defaulted = type as? any AnyDefaulted.Type, let value = defaulted.missing as? T else {
            throw coder.missing(key)
        }
        return value
    }

    func decodeIfPresent<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T? {
        do {
            return try decoder.inFrame {
                let name = key.stringValue
                guard try coder.locate(name) else { return nil }
                do { return try coder.readIfPresent(type) } catch { throw coder.failed(error, name) }
            }
        } catch {
            throw decoder.exposed(error, key)
        }
    }

    private func view(_ key: Key) throws -> ArchiveValueDecoder {
        try at(key) { try view(key.stringValue) }
    }

    /// A view of the value at the current position.
    private func view(_ key: String) throws -> ArchiveValueDecoder {
        let detached = try coder.detach(at: .key(key), decoder.detached)
        try coder.input.skipValue(coder.shapes)
        return ArchiveValueDecoder(coder: coder, serial: detached.serial, detached: detached)
    }

    func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type, forKey key: Key
    ) throws -> KeyedDecodingContainer<Nested> {
        try view(key).container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
        try view(key).unkeyedContainer()
    }

    func superDecoder() throws -> any Decoder { try superDecoder(at: "super") }

    func superDecoder(forKey key: Key) throws -> any Decoder { try superDecoder(at: key.stringValue) }

    /// A view of the value under a key; like the coders of the toolchain, of nil if the key is missing.
    private func superDecoder(at key: String) throws -> ArchiveValueDecoder {
        do {
            return try decoder.inFrame {
                guard try coder.locate(key) else {
                    let detached = coder.detachNil(at: .key(key), decoder.detached)
                    return ArchiveValueDecoder(coder: coder, serial: detached.serial, detached: detached)
                }
                do { return try view(key) } catch { throw coder.failed(error, key) }
            }
        } catch {
            throw decoder.exposed(error)
        }
    }
}
