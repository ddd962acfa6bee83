/// Reads a `Codable` type as one other value.
struct SingleValueDecoder: SingleValueDecodingContainer {
    let decoder: ArchiveValueDecoder

    var coder: ObjectDecoder { decoder.coder }
    var codingPath: [any CodingKey] { [] }

    /// Reads the value; a failed or repeated attempt begins at the same place.
    @inline(__always)
    func once<R>(_ body: () throws -> R) throws -> R {
        try decoder.inFrame {
            try coder.openSingle()
            do {
                let result = try body()
                coder.frame.layout = .single
                return result
            } catch {
                coder.frame.layout = .unopened
                throw error
            }
        }
    }

    func decodeNil() -> Bool {
        (try? decoder.inFrame {
            try coder.openSingle()
            return try coder.readNil()
        }) ?? false
    }

    func decode<T: Decodable>(_ type: T.Type) throws -> T {
        try once { try coder.read(type) }
    }
}
