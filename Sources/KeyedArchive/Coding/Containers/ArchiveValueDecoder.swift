/// The `Decoder` a `Codable` value sees: a view of an `ObjectDecoder` at the value's place.
package struct ArchiveValueDecoder: ObjectPlaceDecoder {
    let coder: ObjectDecoder
    /// The serial number of the value's frame; a view that outlives the frame can read nothing.
    let serial: Int
    let detached: DetachedFrame?

    /// Empty: paths are put together only when an error travels outwards.
    package var codingPath: [any CodingKey] { [] }
    /// Empty.
    package var userInfo: [CodingUserInfoKey: Any] { [:] }

    @inline(__always)
    func inFrame<R>(_ body: () throws -> R) throws -> R {
        if let detached {
            swap(&coder.frame, &detached.frame)
            defer {
                let height = coder.frame.height
                swap(&coder.frame, &detached.frame)
                coder.frame.height = max(coder.frame.height, height)
            }
            return try body()
        }
        guard coder.frame.serial == serial else { throw Self.stale() }
        return try body()
    }

    @inline(never)
    private static func stale() -> ArchiveError {
        ArchiveError(.misuse, "a container was used after or beside the value it belongs to")
    }

    package func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        try inFrame { try coder.openKeyed() }
        return KeyedDecodingContainer(KeyedValueDecoder<Key>(decoder: self))
    }

    package func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        let count = try inFrame { try coder.openList() }
        return UnkeyedValueDecoder(decoder: self, total: count)
    }

    package func singleValueContainer() throws -> any SingleValueDecodingContainer {
        try inFrame { try coder.openSingle() }
        return SingleValueDecoder(decoder: self)
    }

    /// Reads the object here by copy, even if its class may also travel by reference.
    package func decodeObjectInPlace<T: ObjectCoding>(_ type: T.Type) throws -> T {
        try SingleValueDecoder(decoder: self).once {
            guard coder.input.take(Tag.reference) else { throw coder.mismatch(coder.name(of: type)) }
            return try coder.object(try coder.input.varint(), as: type)
        }
    }
}

extension ObjectDecoder {
    /// Reads a value of a type that decodes itself.
    func readCodable<T: Decodable>(_ type: T.Type) throws -> T {
        try checkDepth()
        let outer = frame
        state.depth &+= 1
        let serial = state.nextSerial()
        frame = DecoderFrame(valueIn: outer, serial: serial, height: outer.height)
        do {
            let value = try T(from: ArchiveValueDecoder(coder: self, serial: serial, detached: nil))
            let end = try frame.end(shapes)
            closeFrame(outer)
            input.seek(to: end)
            return value
        } catch {
            closeFrame(outer)
            throw error
        }
    }

    /// Makes an object from the open body; its class is `Codable` but not `ObjectCoding`.
    func readBody(_ type: any (AnyObject & Decodable).Type) throws -> AnyObject {
        try type.init(from: ArchiveValueDecoder(coder: self, serial: frame.serial, detached: nil))
    }
}
