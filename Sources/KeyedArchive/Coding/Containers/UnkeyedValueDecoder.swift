/// Reads the elements of a `Codable` type one after the other.
struct UnkeyedValueDecoder: UnkeyedDecodingContainer {
    let decoder: ArchiveValueDecoder
    let total: Int

    var coder: ObjectDecoder { decoder.coder }
    var codingPath: [any CodingKey] { [] }
    var count: Int? { total }
    var currentIndex: Int { (try? decoder.inFrame { coder.frame.cursor }) ?? total }
    var isAtEnd: Bool { currentIndex >= total }

    @inline(__always)
    func next<R>(_ body: () throws -> R) throws -> R {
        try decoder.inFrame {
            let index = coder.frame.cursor
            guard index < coder.frame.count else {
                throw ArchiveError(.missingKey, "the list has only \(total) elements")
            }
            let before = coder.frame.mark
            do {
                let value = try body()
                coder.frame.advance()
                return value
            } catch {
                coder.frame.goBack(to: before)
                throw ArchiveError.wrapping(error, at: .index(index))
            }
        }
    }

    mutating func decodeNil() throws -> Bool {
        try decoder.inFrame {
            guard coder.frame.cursor < coder.frame.count else {
                throw ArchiveError(.missingKey, "the list has only \(total) elements")
            }
            let before = coder.frame.mark
            if try coder.readNil() {
                coder.frame.advance()
                return true
            }
            coder.frame.goBack(to: before)
            return false
        }
    }

    mutating func decode<T: Decodable>(_ type: T.Type) throws -> T {
        try next { try coder.read(type) }
    }

    private func view() throws -> ArchiveValueDecoder {
        try next {
            let detached = try coder.detach()
            try coder.input.skipValue(coder.shapes)
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
