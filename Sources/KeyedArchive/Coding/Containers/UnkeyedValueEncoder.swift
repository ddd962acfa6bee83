/// Writes the elements of a `Codable` type one after the other.
struct UnkeyedValueEncoder: UnkeyedEncodingContainer {
    let encoder: ArchiveValueEncoder

    var coder: ObjectEncoder { encoder.coder }
    var codingPath: [any CodingKey] { encoder.codingPath }

    var count: Int { (try? encoder.inScope { coder.scope.layout == .list ? coder.scope.cursor : 0 }) ?? 0 }

    /// Begins an element.
    ///
    /// - Throws: `ArchiveError.misuse` if the value is no list, because it was asked for a container of another kind before.
    @inline(__always)
    private func beginElement() throws {
        guard coder.scope.layout == .list else { throw coder.fail(ObjectEncoder.twoKinds) }
        coder.scope.advance()
    }

    /// Writes an element; takes it back if that fails.
    @inline(__always)
    func next(_ value: @autoclosure () -> Any, _ body: () throws -> Void) throws {
        do {
            try encoder.inScope {
                try beginElement()
                if coder.scope.extras != nil {
                    // A nested container came before and may still grow: later elements are deferred, too.
                    let place = coder.deferElements()
                    do { try coder.within(place) { try attempt(body) } } catch { throw failed(error) }
                } else {
                    do { try attempt(body) } catch { throw failed(error) }
                }
            }
        } catch {
            throw encoder.exposed(error, value())
        }
    }

    @inline(__always)
    private func attempt(_ body: () throws -> Void) throws {
        let mark = coder.mark
        do { try body() } catch {
            coder.takeBack(to: mark)
            throw error
        }
    }

    /// Takes back the count of an element that could not be written.
    @inline(never)
    private func failed(_ error: any Error) -> ArchiveError {
        coder.scope.retreat()
        return ArchiveError.wrapping(error, at: .index(coder.scope.cursor))
    }

    mutating func encodeNil() throws {
        try next(Any?.none as Any) { coder.output.byte(Tag.none) }
    }

    mutating func encode<T: Encodable>(_ value: T) throws {
        try next(value) { try coder.write(value) }
    }

    private func deferred() -> ArchiveValueEncoder {
        do {
            let value = try encoder.inScope {
                try beginElement()
                return coder.deferValue(key: nil, isContainer: false, in: encoder.deferred)
            }
            return ArchiveValueEncoder(coder: coder, serial: value.serial, deferred: value)
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
