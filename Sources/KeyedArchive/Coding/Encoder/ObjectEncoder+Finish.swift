#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension ObjectEncoder {
    /// Writes a value that has no key.
    package func encodeTop<T>(_ value: T, _ codec: ValueCodec<T>) throws {
        guard !state.pointee.isFinished else { throw ArchiveError(.misuse, "the archive is finished") }
        do { try codec.write(value, self) } catch { throw fail(error) }
    }

    /// Writes a value that has no key, of a type whose codec is not at hand.
    package func encodeTop<T: Encodable>(_ value: T) throws {
        guard !state.pointee.isFinished else { throw ArchiveError(.misuse, "the archive is finished") }
        do { try write(value) } catch { throw fail(error) }
    }

    /// Writes the bodies of all objects met, resolves conditional references and completes the archive.
    package func finish() throws {
        let s = state
        if let failure = s.pointee.failure { throw failure }
        guard !s.pointee.isFinished else { return }
        s.pointee.valuesEnd = s.pointee.out.count + s.pointee.blobBytes
        if !s.pointee.objects.isEmpty {
            try writeBodies()
            replaceScope(EncoderScope(type: NestedValue.self, serial: 0, layout: .closed, isBody: false))
            if let failure = s.pointee.failure { throw failure }
        }
        for (position, object) in s.pointee.conditionals {
            let address = UInt(bitPattern: Unmanaged.passUnretained(object).toOpaque())
            if let number = s.pointee.identity.find(address) { s.pointee.out.patch(number, at: position) }
        }
        s.pointee.header.count = 0
        s.pointee.header.varint(UInt64(s.pointee.objects.count))
        s.pointee.header.varint(UInt64(s.pointee.valuesEnd))
        s.pointee.isFinished = true
        guard byteCount <= limits.bytes else {
            throw fail(ArchiveError(.limit, "an archive of more than \(limits.bytes) bytes"))
        }
    }

    /// The objects by reference, in index order.
    package var externals: [AnyObject] { state.pointee.externals }

    /// The shapes the body names, in order of their numbers.
    package var shapes: [Shape] { state.pointee.shapes }

    /// Whether there are objects by reference or shapes.
    package var hasTables: Bool { !state.pointee.externals.isEmpty || !state.pointee.shapes.isEmpty }

    package var externalCount: Int { state.pointee.externals.count }

    package var shapeCount: Int { state.pointee.shapes.count }

    /// As a loop over `externals`, which would count references to the array too.
    package func forEachExternal(_ body: (AnyObject) -> Void) {
        for index in 0..<state.pointee.externals.count { body(state.pointee.externals[index]) }
    }

    /// As a loop over `shapes`, which would count references to the array too.
    package func forEachShape(_ body: (Shape) -> Void) {
        for index in 0..<state.pointee.shapes.count { body(state.pointee.shapes[index]) }
    }

    /// The number of objects met.
    package var objectCount: Int { state.pointee.objects.count }

    /// Bytes of the finished archive.
    package var byteCount: Int {
        state.pointee.header.count + state.pointee.lengths.count + state.pointee.out.count + state.pointee.blobBytes
    }

    /// The finished archive in two parts, if it is nothing but values in one piece; valid until the next call.
    package var plainParts: (header: UnsafeRawBufferPointer, values: UnsafeRawBufferPointer)? {
        guard state.pointee.lengths.count == 0, state.pointee.blobBytes == 0 else { return nil }
        return (state.pointee.header.bytes, state.pointee.out.bytes)
    }

    /// The second part of `plainParts`.
    package var plainValues: UnsafeRawBufferPointer { state.pointee.out.bytes }

    /// Visits the finished archive in order, without copying; the bytes are valid during the call.
    package func forEachSegment(_ body: (UnsafeRawBufferPointer) throws -> Void) rethrows {
        let s = state
        try body(s.pointee.header.bytes)
        if s.pointee.lengths.count > 0 { try body(s.pointee.lengths.bytes) }
        var position = 0
        for blob in s.pointee.blobs {
            if blob.position > position {
                try body(UnsafeRawBufferPointer(rebasing: s.pointee.out.bytes[position..<blob.position]))
            }
            try body(blob.bytes)
            position = blob.position
        }
        if s.pointee.out.count > position {
            try body(UnsafeRawBufferPointer(rebasing: s.pointee.out.bytes[position...]))
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

    /// Hands the finished archive over in parts that stay valid after `reset()`; big blobs are still not copied.
    package func takeSegments() -> [ArchiveSegment] {
        let s = state
        var pieces = ArchivePieces()
        var front = ByteSink(capacity: s.pointee.header.count + s.pointee.lengths.count)
        front.append(s.pointee.header.bytes)
        front.append(s.pointee.lengths.bytes)
        pieces.append(front)
        pieces.append(s.pointee.out, s.pointee.blobs)
        s.pointee.out = ByteSink(capacity: 512)
        s.pointee.blobs = []
        s.pointee.blobBytes = 0
        return pieces.segments
    }
}
