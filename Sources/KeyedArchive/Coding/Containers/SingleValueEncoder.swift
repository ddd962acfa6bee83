/// Writes a `Codable` type as one other value.
struct SingleValueEncoder: SingleValueEncodingContainer {
    let encoder: ArchiveValueEncoder

    var coder: ObjectEncoder { encoder.coder }
    var codingPath: [any CodingKey] { [] }

    @inline(__always)
    func next(_ body: () throws -> Void) throws {
        try encoder.inScope {
            let s = coder.state
            guard s.pointee.scope.layout == .unopened else {
                throw coder.fail(ArchiveError(.misuse, "a value was encoded twice into one place"))
            }
            if s.pointee.scope.isBody { coder.openSingleBody() }
            s.pointee.scope.layout = .single
            try body()
        }
    }

    func encodeNil() throws {
        try next { coder.state.pointee.out.byte(Tag.none) }
    }

    func encode<T: Encodable>(_ value: T) throws {
        try next { try coder.write(value) }
    }
}
