/// Reads the elements of a `Codable` type one after the other.
///
/// A copy reads on its own from where it was made.
struct UnkeyedValueDecoder: UnkeyedDecodingContainer {
    let decoder: ArchiveValueDecoder
    let total: Int
    private(set) var currentIndex = 0
    /// Where the next element begins.
    private var position: Int

    init(decoder: ArchiveValueDecoder, total: Int, at position: Int) {
        self.decoder = decoder
        self.total = total
        self.position = position
    }

    var coder: ObjectDecoder { decoder.coder }
    var codingPath: [any CodingKey] { decoder.codingPath }
    var count: Int? { total }
    var isAtEnd: Bool { currentIndex >= total }

    /// Reads an element; after an error, the next attempt begins at the same one.
    ///
    /// - Parameter type: What is read.
    @inline(__always)
    mutating func next<R>(_ type: Any.Type, _ body: (ObjectDecoder) throws -> R) throws -> R {
        let coder = coder
        do {
            return try decoder.inFrame {
                guard currentIndex < total else { throw atEnd(type) }
                coder.frame.move(toElement: currentIndex, at: position)
                do {
                    let value = try body(coder)
                    coder.frame.advance()
                    currentIndex &+= 1
                    position = coder.input.position
                    return value
                } catch {
                    coder.frame.move(toElement: currentIndex, at: position)
                    throw ArchiveError.wrapping(error, at: .index(currentIndex))
                }
            }
        } catch {
            throw decoder.exposed(error)
        }
    }

    @inline(never)
    private func atEnd(_ type: Any.Type) -> ArchiveError {
        ArchiveError(.missingKey, expected: type, isAbsent: true, "the list has only \(total) elements")
            .at([.index(total)])
    }

    mutating func decodeNil() throws -> Bool {
        var ahead = self
        guard try ahead.next(Never.self, { try $0.readNil() }) else { return false }
        self = ahead
        return true
    }

    mutating func decode<T: Decodable>(_ type: T.Type) throws -> T {
        try next(type) { try $0.read(type) }
    }

    /// Passes a view of the next element to `open`, and moves past the element if that succeeds.
    private mutating func nested<R>(_ type: Any.Type, _ open: (ArchiveValueDecoder) throws -> R) throws -> R {
        let index = currentIndex
        var ahead = self
        let outer = decoder.detached
        let view = try ahead.next(type) { coder in
            let detached = try coder.detach(at: .index(index), outer)
            try coder.input.skipValue(coder.shapes)
            return ArchiveValueDecoder(coder: coder, serial: detached.serial, detached: detached)
        }
        let result = try open(view)
        self = ahead
        return result
    }

    mutating func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type
    ) throws -> KeyedDecodingContainer<Nested> {
        try nested(KeyedDecodingContainer<Nested>.self) { try $0.container(keyedBy: type) }
    }

    mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
        try nested((any UnkeyedDecodingContainer).self) { try $0.unkeyedContainer() }
    }

    mutating func superDecoder() throws -> any Decoder { try nested((any Decoder).self) { $0 } }
}
