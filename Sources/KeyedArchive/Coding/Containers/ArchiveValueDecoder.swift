/// The `Decoder` a `Codable` value sees: a view of an `ObjectDecoder` at the value's place.
package struct ArchiveValueDecoder: ObjectPlaceDecoder {
    let coder: ObjectDecoder
    /// The serial number of the value's frame; a view that outlives the frame can read nothing.
    let serial: Int
    let detached: DetachedFrame?

    /// The steps from the value that the archive's reader asked for; see `ObjectDecoder.path(ofFrame:_:)`.
    package var codingPath: [any CodingKey] {
        coder.path(ofFrame: serial, detached).map { CodingPathKey($0) }
    }
    package var userInfo: [CodingUserInfoKey: Any] { coder.userInfo }

    @inline(__always)
    func inFrame<R>(_ body: () throws -> R) throws -> R {
        if let detached { return try inFrame(of: detached, body) }
        guard coder.frame.serial == serial else { throw Self.stale() }
        return try body()
    }

    @inline(__always)
    private func inFrame<R>(of detached: DetachedFrame, _ body: () throws -> R) throws -> R {
        // What the frame reads from may be gone.
        guard detached.serial > coder.state.firstSerial else { throw Self.stale() }
        swap(&coder.frame, &detached.frame)
        detached.suspended = coder.state.detached
        coder.state.detached = Unmanaged.passUnretained(detached)
        defer {
            coder.state.detached = detached.suspended
            let height = coder.frame.height
            swap(&coder.frame, &detached.frame)
            coder.frame.height = max(coder.frame.height, height)
        }
        return try body()
    }

    @inline(never)
    private static func stale() -> ArchiveError {
        ArchiveError(.misuse, "a container was used after or beside the value it belongs to")
    }

    /// An error as the code of the type gets it.
    @inline(never)
    func exposed(_ error: any Error, _ key: (any CodingKey)? = nil) -> any Error {
        coder.exposed(error, from: serial, detached, key)
    }

    /// A view of the value that can open a container of another kind than those that are open.
    private func reopened() throws -> ArchiveValueDecoder {
        let again = try inFrame { coder.detachAgain(detached) }
        return ArchiveValueDecoder(coder: coder, serial: again.serial, detached: again)
    }

    package func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        do {
            let isOpen = try inFrame {
                // A failed attempt must leave what was read before as it is.
                switch coder.frame.layout {
                case .list, .single: return false
                default: if coder.frame.isBody && !coder.frame.isKeyedBody { return false }
                }
                try coder.openKeyed()
                return true
            }
            if isOpen { return KeyedDecodingContainer(KeyedValueDecoder<Key>(decoder: self)) }
            let view = try reopened()
            try view.inFrame { try coder.openKeyed() }
            return KeyedDecodingContainer(KeyedValueDecoder<Key>(decoder: view))
        } catch {
            throw exposed(error)
        }
    }

    package func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        do {
            let start = try inFrame {
                switch coder.frame.layout {
                case .keyed, .single: nil as (count: Int, first: Int)?
                default: try coder.openList()
                }
            }
            if let start { return UnkeyedValueDecoder(decoder: self, total: start.count, at: start.first) }
            let view = try reopened()
            let again = try view.inFrame { try coder.openList() }
            return UnkeyedValueDecoder(decoder: view, total: again.count, at: again.first)
        } catch {
            throw exposed(error)
        }
    }

    package func singleValueContainer() throws -> any SingleValueDecodingContainer {
        SingleValueDecoder(decoder: self)
    }

    /// Reads the object here by copy, even if its class may also travel by reference.
    package func decodeObjectInPlace<T: ObjectCoding>(_ type: T.Type) throws -> T {
        try SingleValueDecoder(decoder: self).once(type) {
            guard coder.input.take(Tag.reference) else { throw coder.mismatch(coder.name(of: type), type) }
            return try coder.object(try coder.input.varint(), as: type)
        }
    }
}

extension ObjectDecoder {
    /// Reads a value of a type that decodes itself.
    func readCodable<T: Decodable>(_ type: T.Type) throws -> T {
        guard state.depth < state.levels.room else { return try deeper { try readHere(type) } }
        return try readHere(type)
    }

    @inline(__always)
    private func readHere<T: Decodable>(_ type: T.Type) throws -> T {
        let outer = frame
        let serial = state.openValue()
        do {
            let value = try T(from: ArchiveValueDecoder(coder: self, serial: serial, detached: nil))
            try closeValue(outer)
            return value
        } catch {
            return try abandonValue(outer, error)
        }
    }

    private func closeValue(_ outer: DecoderFrame) throws {
        let end = try frame.end(shapes)
        closeFrame(outer)
        input.seek(to: end)
    }

    @inline(never)
    private func abandonValue<T>(_ outer: DecoderFrame, _ error: any Error) throws -> T {
        var error = error
        if let unknown = unknownCase(T.self, error) {
            do {
                try closeValue(outer)
                return unknown
            } catch let damage {
                error = damage
            }
        }
        let absorbed = absorbed(error)
        closeFrame(outer)
        throw absorbed
    }

    /// Makes an object from the open body; its class is `Codable` but not `ObjectCoding`.
    func readBody(_ type: any (AnyObject & Decodable).Type) throws -> AnyObject {
        try type.init(from: ArchiveValueDecoder(coder: self, serial: frame.serial, detached: nil))
    }
}
