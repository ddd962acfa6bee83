internal import Synchronization

/// Memory for the bytes of large messages in one direction, in pieces that are used again and again.
///
/// Only its maker can write it, and can do so at any time. So the reader copies each piece once and uses only the copy.
struct Region {
    /// As large as a message's copies are quick: in smaller pieces each side waits for the other too often, and in
    /// larger ones the processor's caches hold none of the bytes.
    static let pieceSize = 1 << 20
    static let pieces = 4
    static let size = pieces * pieceSize

    private let memory: RegionMemory

    /// Makes one; see `RegionMemory.make`.
    static func make() -> (region: Region, descriptor: CInt)? {
        RegionMemory.make(size, for: .pieces).map { (Region(memory: $0.memory), $0.descriptor) }
    }

    /// Maps a peer's; see `RegionMemory.take`.
    ///
    /// - Throws: `protocolViolation` if it is not what the peer has to make.
    static func take(_ descriptor: CInt) throws(TransportError) -> Region? {
        guard let memory = try RegionMemory.take(descriptor, size: size, for: .pieces) else { return nil }
        return Region(memory: memory)
    }

    /// The place of the piece that comes after so many others.
    func piece(_ position: UInt64) -> UnsafeMutableRawBufferPointer {
        let index = Int(truncatingIfNeeded: position % UInt64(Self.pieces))
        return UnsafeMutableRawBufferPointer(
            rebasing: memory.bytes[index * Self.pieceSize..<(index + 1) * Self.pieceSize])
    }
}

/// The words of one direction's regions in the shared memory, as `Frames.md` lays them out.
///
/// The reader changes the first line, the writer the second, except that the reader takes back the writer's request.
struct RegionWords {
    /// Pieces read ever.
    let taken: UnsafeMutablePointer<Atomic<UInt64>>
    /// 0: the reader takes no region; 1: it would take one; 1 + n: it has taken the n-th.
    let answer: UnsafeMutablePointer<Atomic<UInt32>>
    /// Not 0: the writer wants to be notified of a free piece.
    let writerWaits: UnsafeMutablePointer<Atomic<UInt32>>

    /// Of those of the ring to the maker, in the memory; those of the other ring follow.
    static let offset = 256
    static let size = 128

    init(at address: UnsafeMutableRawPointer) {
        taken = address.assumingMemoryBound(to: Atomic<UInt64>.self)
        answer = (address + 8).assumingMemoryBound(to: Atomic<UInt32>.self)
        writerWaits = (address + 64).assumingMemoryBound(to: Atomic<UInt32>.self)
    }
}

/// What is said on the socket beside shared memory, in one byte each.
enum RegionByte: UInt8 {
    /// The writer is done with its region.
    case release = 0
    /// The writer has made a region, whose descriptor comes with the byte.
    case offer = 1
    /// The writer has made a region for blobs, whose descriptor comes with the byte.
    case blob = 2
}
