/// Writes the elements of a `Codable` type one after the other.
struct UnkeyedValueEncoder: UnkeyedEncodingContainer {
    let encoder: ArchiveValueEncoder

    var coder: ObjectEncoder { encoder.coder }
    var codingPath: [any CodingKey] { [] }

    var count: Int { (try? encoder.inScope { coder.scope.cursor }) ?? 0 }

    @inline(__always)
    func next(_ body: () throws -> Void) throws {
        try encoder.inScope {
            coder.scope.advance()
            if coder.scope.extras != nil {
                // A nested container came before and may still grow: later elements are deferred, too.
                let place = coder.deferElements()
                try coder.within(place, body)
            } else {
                try body()
            }
        }
    }

    mutating func encodeNil() throws {
        try next { coder.output.byte(Tag.none) }
    }

    mutating func encode<T: Encodable>(_ value: T) throws {
        let index = count
        try next {
            do { try coder.write(value) } catch { throw coder.fail(error, at: .index(index)) }
        }
    }

    private func deferred() -> ArchiveValueEncoder {
        do {
            let value = try encoder.inScope {
                coder.scope.advance()
                return coder.deferValue(key: nil)
            }
            return ArchiveValueEncoder(coder: coder, serial: value.scope.serial, deferred: value)
        } catch {
            return ArchiveValueEncoder(coder: coder, serial: -1, deferred: nil)
        }
    }

    mutating func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type) -> KeyedEncodingContainer<Nested> {
        deferred().container(keyedBy: type)
    }

    mutating func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { deferred().unkeyedContainer() }

    mutating func superEncoder() -> any Encoder { deferred() }
}
