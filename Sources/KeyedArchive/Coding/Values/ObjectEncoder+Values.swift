#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension ObjectEncoder {
    /// Writes a value of any type.
    @inline(__always)
    func write<T: Encodable>(_ value: T) throws {
        if let writer = state.writers.find(T.self) {
            try writer._withUnsafeGuaranteedRef {
                try unsafeDowncast($0, to: ValueWriter<T>.self).write(value, self)
            }
        } else {
            let writer = ValueWriter<T>.of(T.self)
            state.writers.remember(writer, for: T.self)
            try writer.write(value, self)
        }
    }

    @inline(__always)
    func write(string value: String) throws {
        output.string(value)
        // Cheaper afterwards: only long strings can break the limit.
        if value.utf8.count > limits.string {
            throw fail(ArchiveError(.limit, "a string of more than \(limits.string) bytes"))
        }
    }

    func write(data: Data) throws {
        if data.count >= Blob.smallest && state.deferredDepth == 0 {
            let owner = DataOwner(data)
            // `Data` of this size is not inline: the copy in `owner` keeps its memory in place.
            owner.data.withUnsafeBytes { writeBlob($0, owner) }
        } else {
            data.withUnsafeBytes { writeBytes($0) }
        }
    }

    func write(bytes: [UInt8]) throws {
        if bytes.count >= Blob.smallest && state.deferredDepth == 0 {
            let owner = ArrayOwner(bytes)
            owner.array.withUnsafeBytes { writeBlob($0, owner) }
        } else {
            bytes.withUnsafeBytes { writeBytes($0) }
        }
    }

    /// Writes bytes that the owner keeps where they are.
    func write(bytes: UnsafeRawBufferPointer, keptBy owner: AnyObject) {
        if bytes.count >= Blob.smallest && state.deferredDepth == 0 {
            writeBlob(bytes, owner)
        } else {
            writeBytes(bytes)
        }
    }

    func writeBytes(_ bytes: UnsafeRawBufferPointer) {
        output.counted(Tag.bytes, bytes.count)
        output.append(bytes)
    }

    private func writeBlob(_ bytes: UnsafeRawBufferPointer, _ owner: AnyObject) {
        output.counted(Tag.bytes, bytes.count)
        tables.append(Blob(position: output.count, owner: owner, bytes: bytes))
    }

    /// Writes scalars in their memory layout.
    func write<T: BitwiseCopyable>(packed values: UnsafeBufferPointer<T>, _ kind: PackedKind) throws {
        try checkCount(values.count)
        output.packed(kind, values.count)
        output.append(UnsafeRawBufferPointer(values))
    }

    func writeList<C: Collection>(_ values: C, tag: UInt8 = Tag.list, _ writer: ValueWriter<C.Element>) throws {
        try checkCount(values.count)
        try nested {
            output.counted(tag, values.count)
            var index = 0
            for value in values {
                note(element: index)
                do { try writer.write(value, self) } catch { throw fail(error, at: .index(index)) }
                index += 1
            }
        }
    }

    /// Runs `body` one level of nesting deeper.
    @inline(__always)
    func nested(_ body: () throws -> Void) throws {
        guard state.depth < state.levels.room else { return try deeper { try inLevel(body) } }
        try inLevel(body)
    }

    @inline(__always)
    private func inLevel(_ body: () throws -> Void) throws {
        descend()
        defer { state.depth &-= 1 }
        try body()
    }

    func write(decimal value: Decimal) {
        guard !value.isNaN else { return output.decimal(DecimalText.notANumber, exponent: 0) }
        let digits = (value.sign == .minus ? "-" : "") + value.significand.description
        output.decimal(digits, exponent: Int64(value.exponent))
    }

    func write(url value: URL) throws {
        try nested {
            output.byte(Tag.url)
            try write(string: value.relativeString)
            if let base = value.baseURL {
                try write(string: base.absoluteString)
            } else {
                output.byte(Tag.none)
            }
        }
    }

    func write(uuid value: UUID) {
        output.byte(Tag.uuid)
        withUnsafeBytes(of: value.uuid) { output.append($0) }
    }
}
