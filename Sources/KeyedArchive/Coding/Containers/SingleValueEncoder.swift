/// Writes a `Codable` type as one other value.
struct SingleValueEncoder: SingleValueEncodingContainer {
    let encoder: ArchiveValueEncoder

    var coder: ObjectEncoder { encoder.coder }
    var codingPath: [any CodingKey] { encoder.codingPath }

    /// Writes the value; takes it back if that fails.
    @inline(__always)
    func next(_ value: @autoclosure () -> Any, _ body: () throws -> Void) throws {
        do {
            try encoder.inScope {
                guard coder.scope.layout == .unopened else {
                    throw coder.fail(ArchiveError(.misuse, "a value was encoded twice into one place"))
                }
                let mark = coder.mark
                if coder.scope.isBody { coder.openSingleBody() }
                coder.scope.openSingle()
                do { try body() } catch {
                    coder.takeBack(to: mark)
                    coder.scope.reopen()
                    throw error
                }
            }
        } catch {
            throw encoder.exposed(error, value())
        }
    }

    func encodeNil() throws {
        try next(Any?.none as Any) { coder.output.byte(Tag.none) }
    }

    func encode<T: Encodable>(_ value: T) throws {
        try next(value) { try coder.write(value) }
    }
}
