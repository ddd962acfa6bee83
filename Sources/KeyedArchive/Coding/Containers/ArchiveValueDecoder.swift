/// A place in the archive that is read beside the current one: a nested container or a super decoder.
final class DetachedFrame {
    var frame: DecoderFrame
    /// What the bytes of the frame may lie in.
    private let surroundings: FrameExtras?

    init(_ frame: DecoderFrame, in surroundings: FrameExtras?) {
        self.frame = frame
        self.surroundings = surroundings
    }

    deinit {
        frame.dispose()
    }
}

/// The `Decoder` a `Codable` value sees: a view of an `ObjectDecoder` at the value's place.
package struct ArchiveValueDecoder: Decoder {
    let coder: ObjectDecoder
    /// The frame of the value; a view that outlives it can read nothing.
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

    /// Reads the object that stands here by copy, although its class also travels by reference.
    package func decodeObjectInPlace<T: ObjectCoding>(_ type: T.Type) throws -> T {
        try SingleValueDecoder(decoder: self).once {
            guard coder.input.take(Tag.reference) else { throw coder.mismatch(coder.name(of: type)) }
            return try coder.object(try coder.input.varint(), as: type)
        }
    }
}
