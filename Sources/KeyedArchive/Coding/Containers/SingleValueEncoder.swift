/// Writes a `Codable` type as one other value.
struct SingleValueEncoder: SingleValueEncodingContainer {
    let encoder: ArchiveValueEncoder

    var coder: ObjectEncoder { encoder.coder }
    var codingPath: [any CodingKey] { [] }

    @inline(__always)
    func next(_ body: () throws -> Void) throws {
        try encoder.inScope {
            guard coder.scope.layout == .unopened else {
                throw coder.fail(ArchiveError(.misuse, "a value was encoded twice into one place"))
            }
            if coder.scope.isBody { coder.openSingleBody() }
            coder.scope.openSingle()
            try body()
        }
    }

    func encodeNil() throws {
        try next { coder.output.byte(Tag.none) }
    }

    func encode<T: Encodable>(_ value: T) throws {
        try next { try coder.write(value) }
    }
}
