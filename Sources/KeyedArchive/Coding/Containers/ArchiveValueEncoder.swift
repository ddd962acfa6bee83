/// The `Encoder` a `Codable` value sees: a view of an `ObjectEncoder` at the value's place.
package struct ArchiveValueEncoder: ObjectPlaceEncoder {
    let coder: ObjectEncoder
    /// The serial number of the value's scope; a view that outlives the scope can write nothing.
    let serial: Int
    /// Set if the value is written apart and put in place later.
    let deferred: DeferredValue?

    /// The steps from the value that the archive's user named, or from the object with identity that this belongs to.
    package var codingPath: [any CodingKey] { coder.path(ofScope: serial, deferred).map { CodingPathKey($0) } }
    package var userInfo: [CodingUserInfoKey: Any] { coder.userInfo }

    /// An error as the code of the type gets it.
    @inline(never)
    func exposed(_ error: any Error, _ value: Any, _ key: (any CodingKey)? = nil) -> any Error {
        coder.exposed(error, value, from: serial, deferred, key)
    }

    @inline(__always)
    func inScope<R>(_ body: () throws -> R) throws -> R {
        if let deferred {
            guard serial > coder.state.firstSerial else { throw coder.misplaced(serial) }
            return try coder.within(deferred) { try checked(body) }
        }
        return try checked(body)
    }

    @inline(__always)
    private func checked<R>(_ body: () throws -> R) throws -> R {
        guard coder.scope.serial == serial else { throw coder.misplaced(serial) }
        return try body()
    }

    /// Opens a container; `Encoder` returns them without `throws`, so that `finish()` reports a failure.
    private func open(_ body: () throws -> Void) {
        do { try inScope(body) } catch { if !coder.state.isFinished { _ = coder.fail(error) } }
    }

    package func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        open {
            switch coder.scope.layout {
            case .unopened:
                if !coder.scope.isBody { coder.output.byte(Tag.record) }
                coder.openRecord(
                    coder.record(for: coder.scope.type, kind: coder.scope.kind))
            case .keyed, .explicit: break
            default: throw ObjectEncoder.twoKinds
            }
        }
        return KeyedEncodingContainer(KeyedValueEncoder<Key>(encoder: self))
    }

    package func unkeyedContainer() -> any UnkeyedEncodingContainer {
        open {
            switch coder.scope.layout {
            case .unopened:
                if coder.scope.isBody { coder.openSingleBody() }
                coder.output.byte(Tag.list)
                coder.scope.openCounted(.list, at: coder.output.count)
                coder.output.paddedVarint()
            case .list: break
            default: throw ObjectEncoder.twoKinds
            }
        }
        return UnkeyedValueEncoder(encoder: self)
    }

    package func singleValueContainer() -> any SingleValueEncodingContainer { SingleValueEncoder(encoder: self) }

    /// Writes the object as this value, by copy even if its class may also travel by reference.
    package func encodeObjectInPlace<T: ObjectCoding>(_ object: T) throws {
        try SingleValueEncoder(encoder: self).next(object) { try coder.writeCopy(of: object) }
    }
}

extension ObjectEncoder {
    static var twoKinds: ArchiveError { ArchiveError(.misuse, "a value requested containers of two kinds") }

    /// Writes a value of a type that encodes itself.
    func writeCodable<T: Encodable>(_ value: T) throws {
        try withValueScope(of: T.self, isBody: false) { serial in
            do { try value.encode(to: ArchiveValueEncoder(coder: self, serial: serial, deferred: nil)) } catch {
                throw absorbed(error)
            }
        }
    }

    /// Writes the body of an object whose class is `Codable` but not `ObjectCoding`.
    func writeBody(plain object: any AnyObject & Encodable) throws {
        do {
            try withValueScope(of: type(of: object), isBody: true) { serial in
                do { try object.encode(to: ArchiveValueEncoder(coder: self, serial: serial, deferred: nil)) } catch {
                    throw absorbed(error)
                }
            }
        } catch {
            throw fail(error)
        }
    }
}
