/// Reads the elements of a `Codable` type one after the other.
struct UnkeyedValueDecoder: UnkeyedDecodingContainer {
    let decoder: ArchiveValueDecoder
    let total: Int

    var coder: ObjectDecoder { decoder.coder }
    var codingPath: [any CodingKey] { [] }
    var count: Int? { total }
    var currentIndex: Int { (try? decoder.inFrame { coder.state.pointee.frame.cursor }) ?? total }
    var isAtEnd: Bool { currentIndex >= total }

    @inline(__always)
    func next<R>(_ body: () throws -> R) throws -> R {
        try decoder.inFrame {
            let s = coder.state
            let index = s.pointee.frame.cursor
            guard index < s.pointee.frame.keyCount else {
                throw ArchiveError(.missingKey, "the list has only \(total) elements")
            }
            let before = s.pointee.frame.source.position
            do {
                let value = try body()
                s.pointee.frame.cursor = index + 1
                return value
            } catch {
                s.pointee.frame.source.position = before
                throw ArchiveError.wrapping(error, at: .index(index))
            }
        }
    }

    mutating func decodeNil() throws -> Bool {
        try decoder.inFrame {
            let s = coder.state
            guard s.pointee.frame.cursor < s.pointee.frame.keyCount else {
                throw ArchiveError(.missingKey, "the list has only \(total) elements")
            }
            let before = s.pointee.frame.source.position
            if try coder.readNil() {
                s.pointee.frame.cursor += 1
                return true
            }
            s.pointee.frame.source.position = before
            return false
        }
    }

    mutating func decode<T: Decodable>(_ type: T.Type) throws -> T {
        try next { try coder.read(type) }
    }

    private func view() throws -> ArchiveValueDecoder {
        try next {
            let detached = try coder.detach()
            try coder.state.pointee.frame.source.skipValue(coder.shapes)
            return ArchiveValueDecoder(coder: coder, serial: detached.frame.serial, detached: detached)
        }
    }

    mutating func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type
    ) throws -> KeyedDecodingContainer<Nested> {
        try view().container(keyedBy: type)
    }

    mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer { try view().unkeyedContainer() }

    mutating func superDecoder() throws -> any Decoder { try view() }
}
