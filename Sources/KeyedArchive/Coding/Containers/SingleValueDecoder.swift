/// Reads a `Codable` type as one other value.
struct SingleValueDecoder: SingleValueDecodingContainer {
    let decoder: ArchiveValueDecoder

    var coder: ObjectDecoder { decoder.coder }
    var codingPath: [any CodingKey] { decoder.codingPath }

    /// Reads the value; a failed or repeated attempt begins at the same place.
    ///
    /// - Parameter type: What is read.
    @inline(__always)
    func once<R>(_ type: Any.Type, _ body: () throws -> R) throws -> R {
        do {
            return try decoder.inFrame {
                switch coder.frame.layout {
                case .unopened, .single: break
                default:
                    return try coder.again {
                        try coder.toSingle(type)
                        return try body()
                    }
                }
                try coder.toSingle(type)
                do {
                    let result = try body()
                    coder.frame.layout = .single
                    return result
                } catch {
                    coder.frame.layout = .unopened
                    throw error
                }
            }
        } catch {
            throw decoder.exposed(error)
        }
    }

    func decodeNil() -> Bool {
        (try? decoder.inFrame {
            try coder.again {
                try coder.toSingle(Never.self)
                return try coder.readNil()
            }
        }) ?? false
    }

    func decode<T: Decodable>(_ type: T.Type) throws -> T {
        // The body of an object has no tag in front from which another type could be read. A type whose `init(from:)` is
        // only for other decoders asks this container again.
        if try isKeyedBody(), ValueReader<T>.isByKeys { return try body(type) }
        return try once(type) { try coder.read(type) }
    }

    private func body<T: Decodable>(_ type: T.Type) throws -> T {
        do { return try T(from: decoder) } catch {
            guard let unknown = try decoder.inFrame({ coder.unknownCase(type, error) }) else { throw error }
            return unknown
        }
    }

    private func isKeyedBody() throws -> Bool {
        do { return try decoder.inFrame { coder.frame.isKeyedBody } } catch { throw decoder.exposed(error) }
    }
}
