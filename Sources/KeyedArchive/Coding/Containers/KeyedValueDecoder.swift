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

    var codingPath: [any CodingKey] { [] }

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
        try decoder.inFrame {
            let name = key.stringValue
            guard try coder.locate(name) else { throw coder.missing(name) }
            do { return try body() } catch { throw coder.failed(error, name) }
        }
    }

    func decodeNil(forKey key: Key) throws -> Bool {
        try decoder.inFrame {
            let name = key.stringValue
            let before = coder.frame.mark
            guard try coder.locate(name) else { throw coder.missing(name) }
            // A value other than nil is not consumed: the caller reads it next.
            if try coder.readNil() { return true }
            coder.frame.goBack(to: before)
            return false
        }
    }

    func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T {
        try at(key) { try coder.read(type) }
    }

    func decodeIfPresent<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T? {
        try decoder.inFrame {
            let name = key.stringValue
            guard try coder.locate(name) else { return nil }
            do { return try coder.readIfPresent(type) } catch { throw coder.failed(error, name) }
        }
    }

    private func view(_ key: String) throws -> ArchiveValueDecoder {
        try decoder.inFrame {
            guard try coder.locate(key) else { throw coder.missing(key) }
            do {
                let detached = try coder.detach()
                try coder.input.skipValue(coder.shapes)
                return ArchiveValueDecoder(coder: coder, serial: detached.frame.serial, detached: detached)
            } catch {
                throw coder.failed(error, key)
            }
        }
    }

    func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type, forKey key: Key
    ) throws -> KeyedDecodingContainer<Nested> {
        do { return try view(key.stringValue).container(keyedBy: type) } catch {
            throw ArchiveError.wrapping(error, at: .key(key.stringValue))
        }
    }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
        do { return try view(key.stringValue).unkeyedContainer() } catch {
            throw ArchiveError.wrapping(error, at: .key(key.stringValue))
        }
    }

    func superDecoder() throws -> any Decoder { try view("super") }

    func superDecoder(forKey key: Key) throws -> any Decoder { try view(key.stringValue) }
}
