#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Keeps an array alive whose memory waits to be sent.
private final class ArrayOwner<Element> {
    let array: [Element]
    init(_ array: [Element]) { self.array = array }
}

extension ObjectEncoder {
    /// Writes a value of any type.
    @inline(__always)
    func write<T: Encodable>(_ value: T) throws {
        if let writer = state.pointee.writers.find(T.self) {
            try writer._withUnsafeGuaranteedRef {
                try unsafeDowncast($0, to: ValueWriter<T>.self).write(value, self)
            }
        } else {
            let writer = ValueWriter<T>.of(T.self)
            state.pointee.writers.remember(writer, for: T.self)
            try writer.write(value, self)
        }
    }

    @inline(__always)
    func write(string value: String) throws {
        state.pointee.out.string(value)
        // Cheaper afterwards: only long strings can break the limit.
        if value.utf8.count > limits.string {
            throw fail(ArchiveError(.limit, "a string of more than \(limits.string) bytes"))
        }
    }

    func write(data: Data) throws {
        if data.count >= Blob.smallest && state.pointee.deferredDepth == 0 {
            let owner = DataOwner(data)
            // Data of this size lies in memory that the copy in `owner` keeps where it is.
            owner.data.withUnsafeBytes { writeBlob($0, owner) }
        } else {
            data.withUnsafeBytes { writeBytes($0) }
        }
    }

    func write(bytes: [UInt8]) throws {
        if bytes.count >= Blob.smallest && state.pointee.deferredDepth == 0 {
            let owner = ArrayOwner(bytes)
            owner.array.withUnsafeBytes { writeBlob($0, owner) }
        } else {
            bytes.withUnsafeBytes { writeBytes($0) }
        }
    }

    func writeBytes(_ bytes: UnsafeRawBufferPointer) {
        state.pointee.out.byte(Tag.bytes)
        state.pointee.out.varint(UInt64(bytes.count))
        state.pointee.out.append(bytes)
    }

    private func writeBlob(_ bytes: UnsafeRawBufferPointer, _ owner: AnyObject) {
        let s = state
        s.pointee.out.byte(Tag.bytes)
        s.pointee.out.varint(UInt64(bytes.count))
        s.pointee.blobs.append(Blob(position: s.pointee.out.count, owner: owner, bytes: bytes))
        s.pointee.blobBytes += bytes.count
    }

    /// Writes scalars as they lie in memory.
    func write<T: BitwiseCopyable>(packed values: UnsafeBufferPointer<T>, _ kind: PackedKind) throws {
        try checkCount(values.count)
        state.pointee.out.byte(Tag.packed)
        state.pointee.out.byte(kind.rawValue)
        state.pointee.out.varint(UInt64(values.count))
        state.pointee.out.append(UnsafeRawBufferPointer(values))
    }

    func writeList<C: Collection>(_ values: C, tag: UInt8 = Tag.list, _ writer: ValueWriter<C.Element>) throws {
        try checkCount(values.count)
        try nested {
            state.pointee.out.byte(tag)
            state.pointee.out.varint(UInt64(values.count))
            var index = 0
            for value in values {
                do { try writer.write(value, self) } catch { throw fail(error, at: .index(index)) }
                index += 1
            }
        }
    }

    /// Counts a level of nesting around `body`.
    @inline(__always)
    func nested(_ body: () throws -> Void) throws {
        guard state.pointee.depth < limits.depth else {
            throw fail(ArchiveError(.limit, "values nested deeper than \(limits.depth)"))
        }
        state.pointee.depth &+= 1
        defer { state.pointee.depth &-= 1 }
        try body()
    }

    func write(decimal value: Decimal) {
        state.pointee.out.byte(Tag.decimal)
        guard !value.isNaN else {
            state.pointee.out.zigzag(0)
            return state.pointee.out.string(DecimalText.notANumber)
        }
        state.pointee.out.zigzag(Int64(value.exponent))
        state.pointee.out.string((value.sign == .minus ? "-" : "") + value.significand.description)
    }

    func write(url value: URL) throws {
        try nested {
            state.pointee.out.byte(Tag.url)
            try write(string: value.relativeString)
            if let base = value.baseURL {
                try write(string: base.absoluteString)
            } else {
                state.pointee.out.byte(Tag.none)
            }
        }
    }

    func write(uuid value: UUID) {
        state.pointee.out.byte(Tag.uuid)
        withUnsafeBytes(of: value.uuid) { state.pointee.out.append($0) }
    }
}
