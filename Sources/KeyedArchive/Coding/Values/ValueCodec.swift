import Synchronization

/// The writer and the reader for values of `T`.
package struct ValueCodec<T>: Sendable {
    let writer: ValueWriter<T>
    let reader: ValueReader<T>

    /// The reader without its type, for `ObjectDecoder.decodeTop`; it is never freed, so references need not be
    /// counted.
    package var anyReader: Unmanaged<AnyValueCoder> { Unmanaged.passUnretained(reader) }

    /// The writer without its type, for `ObjectEncoder.encodeTop`, as `anyReader`.
    package var anyWriter: Unmanaged<AnyValueCoder> { Unmanaged.passUnretained(writer) }

    @inline(__always)
    func write(_ value: T, _ coder: ObjectEncoder) throws { try writer.write(value, coder) }

    @inline(__always)
    func read(_ coder: ObjectDecoder) throws -> T { try reader.read(coder) }

    /// The codec of a type; keep it if you use it more than once.
    ///
    /// If the type cannot be encoded or decoded, its codec throws.
    package static func of(_ type: T.Type) -> ValueCodec<T> {
        ValueCodec(writer: .of(T.self), reader: .of(T.self))
    }
}

/// The common class of writers and readers of all types.
///
/// Instances are immutable and never freed.
package class AnyValueCoder: @unchecked Sendable {
    fileprivate static let writers = AnyValueCoderTable()
    fileprivate static let readers = AnyValueCoderTable()
}

/// The writers or the readers of all types used so far.
private struct AnyValueCoderTable: ~Copyable, Sendable {
    private let coders = Mutex<[ObjectIdentifier: AnyValueCoder]>([:])

    /// The coder of a type, made on first use; `make` may ask for the coders of other types.
    func coder(of type: Any.Type, _ make: () -> AnyValueCoder) -> AnyValueCoder {
        let key = ObjectIdentifier(type)
        if let known = coders.withLock({ $0[key] }) { return known }
        // `make` runs outside the lock: it may ask for the coders of elements.
        let made = make()
        return coders.withLock { table in
            if let known = table[key] { return known }
            table[key] = made
            return made
        }
    }
}

// Each conformance that a type does not have costs a search of all conformances in the program, so a coder is made by
// asking for as few as possible.

/// Types with a native form in archives.
protocol NativelyArchived {
    static func makeWriter() -> AnyValueCoder
    static func makeReader() -> AnyValueCoder
}

/// Writes values of `T` into archives.
// Immutable after `init`; the closure captures types and other writers only.
final class ValueWriter<T>: AnyValueCoder, @unchecked Sendable {
    let write: (T, ObjectEncoder) throws -> Void

    init(_ write: @escaping (T, ObjectEncoder) throws -> Void) { self.write = write }

    static func of(_ type: T.Type) -> ValueWriter<T> {
        unsafeDowncast(writers.coder(of: type) { make(type) }, to: ValueWriter<T>.self)
    }

    private static func make(_ type: T.Type) -> ValueWriter<T> {
        if let native = type as? any NativelyArchived.Type, let writer = native.makeWriter() as? ValueWriter<T> {
            return writer
        }
        if let external = type as? any _ExternallyCodable.Type {
            if let writer = externalWriter(external) as? ValueWriter<T> { return writer }
        } else if type is AnyClass {
            if let object = type as? any ObjectCoding.Type, let writer = objectWriter(object) as? ValueWriter<T> {
                return writer
            }
            if let plain = type as? any (AnyObject & Encodable).Type,
                let writer = plainWriter(plain) as? ValueWriter<T>
            {
                return writer
            }
        }
        if let bytes = type as? any _ExternalByteCodable.Type, let writer = byteWriter(bytes) as? ValueWriter<T> {
            return writer
        }
        if let codable = type as? any Encodable.Type, let writer = codableWriter(codable) as? ValueWriter<T> {
            return writer
        }
        return ValueWriter { _, _ in throw ArchiveError(.unsupported, "\(T.self) is not Encodable") }
    }
}

private func externalWriter<V: _ExternallyCodable>(_ type: V.Type) -> AnyValueCoder {
    ValueWriter<V> { value, coder in try coder.writeExternal(value) }
}

private func byteWriter<V: _ExternalByteCodable>(_ type: V.Type) -> AnyValueCoder {
    ValueWriter<V> { value, coder in try coder.writeBytes(of: value) }
}

private func objectWriter<O: ObjectCoding>(_ type: O.Type) -> AnyValueCoder {
    ValueWriter<O> { object, coder in try coder.write(object: object) }
}

private func plainWriter<O: AnyObject & Encodable>(_ type: O.Type) -> AnyValueCoder {
    ValueWriter<O> { object, coder in try coder.writePlain(object) }
}

private func codableWriter<V: Encodable>(_ type: V.Type) -> AnyValueCoder {
    ValueWriter<V> { value, coder in try coder.writeCodable(value) }
}

/// Reads values of `T` from archives.
// Immutable after `init`; the closure captures types and other readers only.
final class ValueReader<T>: AnyValueCoder, @unchecked Sendable {
    let read: (ObjectDecoder) throws -> T

    init(_ read: @escaping (ObjectDecoder) throws -> T) { self.read = read }

    /// Whether the type's own `init(from:)` is what reads its values, or reads them as well.
    static var isByKeys: Bool {
        let type: Any.Type = T.self
        if type is any AnyOptional.Type || type is any AnyDictionary.Type { return true }
        return
            !(type is any NativelyArchived.Type || type is any _ExternallyCodable.Type
            || type is any _ExternalByteCodable.Type || type is any ObjectCoding.Type)
    }

    static func of(_ type: T.Type) -> ValueReader<T> {
        unsafeDowncast(readers.coder(of: type) { make(type) }, to: ValueReader<T>.self)
    }

    private static func make(_ type: T.Type) -> ValueReader<T> {
        if let native = type as? any NativelyArchived.Type, let reader = native.makeReader() as? ValueReader<T> {
            return reader
        }
        if let external = type as? any _ExternallyCodable.Type {
            if let reader = externalReader(external) as? ValueReader<T> { return reader }
        } else if type is AnyClass {
            if let object = type as? any ObjectCoding.Type, let reader = objectReader(object) as? ValueReader<T> {
                return reader
            }
            if let plain = type as? any (AnyObject & Decodable).Type,
                let reader = plainReader(plain) as? ValueReader<T>
            {
                return reader
            }
        }
        if let bytes = type as? any _ExternalByteCodable.Type, let reader = byteReader(bytes) as? ValueReader<T> {
            return reader
        }
        if let codable = type as? any Decodable.Type, let reader = codableReader(codable) as? ValueReader<T> {
            return reader
        }
        return ValueReader { _ in throw ArchiveError(.unsupported, "\(T.self) is not Decodable") }
    }
}

private func externalReader<V: _ExternallyCodable>(_ type: V.Type) -> AnyValueCoder {
    ValueReader<V> { coder in try coder.readExternal(V.self) }
}

private func byteReader<V: _ExternalByteCodable>(_ type: V.Type) -> AnyValueCoder {
    ValueReader<V> { coder in try coder.readBytes(of: V.self) }
}

private func objectReader<O: ObjectCoding>(_ type: O.Type) -> AnyValueCoder {
    ValueReader<O> { coder in try coder.readObject(O.self) }
}

private func plainReader<O: AnyObject & Decodable>(_ type: O.Type) -> AnyValueCoder {
    ValueReader<O> { coder in try coder.readObject(plain: O.self) }
}

private func codableReader<V: Decodable>(_ type: V.Type) -> AnyValueCoder {
    ValueReader<V> { coder in try coder.readCodable(V.self) }
}
