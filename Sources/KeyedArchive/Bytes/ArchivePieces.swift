#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A part of an archive in place, in memory that `owner` keeps alive.
package struct ArchiveSegment {
    package let owner: AnyObject
    package let bytes: UnsafeRawBufferPointer
}

/// Owns the memory of a finished sink.
private final class SinkMemory {
    let sink: ByteSink
    init(_ sink: ByteSink) { self.sink = sink }
    deinit { sink.deallocate() }
}

/// A finished archive in the pieces it was made in.
///
/// Large `Data` is not copied into the archive: its bytes are a separate piece.
struct ArchivePieces {
    private(set) var segments: [ArchiveSegment] = []
    /// The total number of bytes.
    private(set) var count = 0

    /// Takes over a sink and appends its content, with the blobs at their positions.
    mutating func append(_ sink: ByteSink, _ blobs: [Blob] = []) {
        let owner = SinkMemory(sink)
        var position = 0
        for blob in blobs {
            append(UnsafeRawBufferPointer(rebasing: sink.bytes[position..<blob.position]), owner)
            append(blob.bytes, blob.owner)
            position = blob.position
        }
        append(UnsafeRawBufferPointer(rebasing: sink.bytes[position...]), owner)
    }

    private mutating func append(_ bytes: UnsafeRawBufferPointer, _ owner: AnyObject) {
        guard !bytes.isEmpty else { return }
        segments.append(ArchiveSegment(owner: owner, bytes: bytes))
        count += bytes.count
    }

    /// Passes all pieces to `receiver`, in order.
    func write(to receiver: (UnsafeRawBufferPointer) throws -> Void) rethrows {
        for segment in segments { try withExtendedLifetime(segment.owner) { try receiver(segment.bytes) } }
    }

    /// The archive as an array.
    func array() -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: count) { target, initialized in
            let target = UnsafeMutableRawBufferPointer(target)
            write {
                UnsafeMutableRawBufferPointer(rebasing: target[initialized...]).copyMemory(from: $0)
                initialized += $0.count
            }
        }
    }

    /// The archive in contiguous memory: a single piece is not copied.
    func inOnePiece() -> ArchiveBytes {
        if segments.count == 1 { return ArchiveBytes(segments[0]) }
        var sink = ByteSink(capacity: count)
        write { sink.append($0) }
        return ArchiveBytes(ArchiveSegment(owner: SinkMemory(sink), bytes: sink.bytes))
    }
}
