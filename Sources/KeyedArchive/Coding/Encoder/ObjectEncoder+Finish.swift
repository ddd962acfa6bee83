#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension ObjectEncoder {
    /// Writes a value that has no key.
    package func encodeTop<T>(_ value: T, _ codec: ValueCodec<T>) throws {
        guard !state.isFinished else { throw ArchiveError(.misuse, "the archive is finished") }
        do { try codec.write(value, self) } catch { throw fail(error) }
    }

    /// Writes a value that has no key, with the writer of its type's codec.
    package func encodeTop<T>(_ value: T, _ writer: Unmanaged<AnyValueCoder>) throws {
        guard !state.isFinished else { throw ArchiveError(.misuse, "the archive is finished") }
        try writer._withUnsafeGuaranteedRef { writer in
            do { try unsafeDowncast(writer, to: ValueWriter<T>.self).write(value, self) } catch { throw fail(error) }
        }
    }

    /// Writes a value that has no key, and looks up the codec of its type.
    package func encodeTop<T: Encodable>(_ value: T) throws {
        guard !state.isFinished else { throw ArchiveError(.misuse, "the archive is finished") }
        do { try write(value) } catch { throw fail(error) }
    }

    /// Writes the bodies of all queued objects, resolves conditional references and completes the archive.
    package func finish() throws {
        if let failure = state.failure { throw failure }
        guard !state.isFinished else { return }
        state.valuesEnd = output.count + tables.blobBytes
        if !tables.objects.isEmpty {
            try writeBodies()
            replaceScope(.closed)
            if let failure = state.failure { throw failure }
        }
        for (position, object) in tables.conditionals {
            let address = UInt(bitPattern: Unmanaged.passUnretained(object).toOpaque())
            if let number = tables.identity.find(address) { output.patch(number, at: position) }
        }
        state.header.count = 0
        state.header.varint(UInt64(tables.objects.count))
        state.header.varint(UInt64(state.valuesEnd))
        state.isFinished = true
        guard byteCount <= limits.bytes else {
            throw fail(ArchiveError(.limit, "an archive of more than \(limits.bytes) bytes"))
        }
    }

    /// The objects by reference, in index order.
    package var externals: [AnyObject] { tables.externals }

    /// The shapes the body names, in order of their numbers.
    package var shapes: [Shape] { tables.shapes }

    /// Whether there are objects by reference or shapes.
    package var hasTables: Bool { !tables.externals.isEmpty || !tables.shapes.isEmpty }

    package var externalCount: Int { tables.externals.count }

    package var shapeCount: Int { tables.shapes.count }

    /// Like a loop over `externals`, without retaining the array.
    package func forEachExternal(_ body: (AnyObject) -> Void) {
        for index in 0..<tables.externals.count { body(tables.externals[index]) }
    }

    /// Like a loop over `shapes`, without retaining the array.
    package func forEachShape(_ body: (Shape) -> Void) {
        for index in 0..<tables.shapes.count { body(tables.shapes[index]) }
    }

    /// The number of objects encoded so far.
    package var objectCount: Int { tables.objects.count }

    /// Bytes of the finished archive.
    package var byteCount: Int {
        state.header.count + tables.lengths.count + output.count + tables.blobBytes
    }

    /// The finished archive in two parts, if it has only values in one piece; valid until the next call.
    package var plainParts: (header: UnsafeRawBufferPointer, values: UnsafeRawBufferPointer)? {
        guard tables.lengths.count == 0, tables.blobBytes == 0 else { return nil }
        return (state.header.bytes, output.bytes)
    }

    /// Makes an archive that was read, with its tables, the content of an encoder that has none.
    ///
    /// - Throws: `ArchiveError.limit` if it is larger than the encoder's limit.
    package func load(archive: UnsafeRawBufferPointer, externals: [AnyObject], shapes: [Shape]) throws {
        guard archive.count <= limits.bytes else {
            throw ArchiveError(.limit, "an archive of more than \(limits.bytes) bytes")
        }
        state.header.count = 0
        output.append(archive)
        tables.load(externals, shapes)
        state.isFinished = true
    }

    /// What a finished archive consists of.
    package enum SoleValue {
        case external(AnyObject)
        case nothing
        case other
    }

    /// The one value of the finished archive, if it is an object by reference or nil and there is no other.
    package var soleValue: SoleValue {
        guard let parts = plainParts, let bytes = soleBytes(parts.header, parts.values) else { return .other }
        if bytes.count == 1, bytes[0] == Tag.none { return .nothing }
        var source = ByteSource(bytes, from: 1)
        guard bytes[0] == Tag.external, let index = try? Int(exactly: source.varint()),
            externals.indices.contains(index)
        else { return .other }
        return .external(externals[index])
    }

    /// The values of a short archive without objects.
    ///
    /// An archive that was read is in `values` as a whole, with its header.
    private func soleBytes(
        _ header: UnsafeRawBufferPointer, _ values: UnsafeRawBufferPointer
    ) -> UnsafeRawBufferPointer? {
        let front = header.isEmpty ? UnsafeRawBufferPointer(rebasing: values.prefix(2)) : header
        let rest = header.isEmpty ? UnsafeRawBufferPointer(rebasing: values.dropFirst(2)) : values
        // No objects, and the length of the values.
        guard (1...8).contains(rest.count), front.count == 2, front[0] == 0, Int(front[1]) == rest.count else {
            return nil
        }
        return rest
    }

    /// The second part of `plainParts`.
    package var plainValues: UnsafeRawBufferPointer { output.bytes }

    /// Visits the finished archive in order, without copying; the bytes are valid during the call.
    package func forEachSegment(_ body: (UnsafeRawBufferPointer) throws -> Void) rethrows {
        try body(state.header.bytes)
        if tables.lengths.count > 0 { try body(tables.lengths.bytes) }
        var position = 0
        for blob in tables.blobs {
            if blob.position > position {
                try body(UnsafeRawBufferPointer(rebasing: output.bytes[position..<blob.position]))
            }
            try body(blob.bytes)
            position = blob.position
        }
        if output.count > position {
            try body(UnsafeRawBufferPointer(rebasing: output.bytes[position...]))
        }
    }

    /// Copies the finished archive to memory of at least `byteCount` bytes.
    package func copyBytes(to target: UnsafeMutableRawBufferPointer) {
        precondition(target.count >= byteCount, "the target is smaller than the archive")
        var offset = 0
        forEachSegment { segment in
            UnsafeMutableRawBufferPointer(rebasing: target[offset...]).copyMemory(from: segment)
            offset += segment.count
        }
    }

    /// Takes the finished archive in parts that stay valid after `reset()`; blobs are not copied.
    package func takeSegments() -> [ArchiveSegment] {
        var pieces = ArchivePieces()
        var front = ByteSink(capacity: state.header.count + tables.lengths.count)
        front.append(state.header.bytes)
        front.append(tables.lengths.bytes)
        pieces.append(front)
        pieces.append(output, tables.blobs)
        state.giveAwayOutput()
        tables.takeBlobs()
        return pieces.segments
    }
}
