internal import Synchronization

/// Memory for the bytes of large messages in one direction, in pieces that are used again and again.
///
/// Only its maker can write it, and can do so at any time. So the reader copies each piece once and uses only the copy.
struct Region {
    /// The size at which copying a message is fastest: with smaller pieces each side waits for the other too often, and
    /// with larger ones the bytes are no longer in the processor's caches.
    static let pieceSize = 1 << 20
    static let pieces = 4
    static let size = pieces * pieceSize

    private let memory: RegionMemory

    /// Makes one; see `RegionMemory.make`.
    static func make(for peer: PeerIdentity) -> (region: Region, descriptor: CInt)? {
        RegionMemory.make(size, for: .pieces, with: peer).map { (Region(memory: $0.memory), $0.descriptor) }
    }

    /// Maps a peer's; see `RegionMemory.take`.
    ///
    /// - Throws: `protocolViolation` if it is not what the peer has to make.
    static func take(_ descriptor: CInt, from peer: PeerIdentity) throws(TransportError) -> Region? {
        guard let memory = try RegionMemory.take(descriptor, size: size, for: .pieces, from: peer) else { return nil }
        return Region(memory: memory)
    }

    /// The memory of the piece that follows after `position` other pieces.
    func piece(_ position: UInt64) -> UnsafeMutableRawBufferPointer {
        let index = Int(truncatingIfNeeded: position % UInt64(Self.pieces))
        return UnsafeMutableRawBufferPointer(
            rebasing: memory.bytes[index * Self.pieceSize..<(index + 1) * Self.pieceSize])
    }
}

/// The words of one direction's regions in the shared memory, as `Frames.md` lays them out.
///
/// The reader changes the first cache line and the writer the second, with one exception: the reader clears the
/// writer's request.
struct RegionWords {
    /// The number of pieces read so far.
    let taken: UnsafeMutablePointer<Atomic<UInt64>>
    /// 0: the reader takes no region; 1: it accepts one; 1 + n: it has taken the n-th.
    let answer: UnsafeMutablePointer<Atomic<UInt32>>
    /// Not 0: the writer wants to be notified of a free piece.
    let writerWaits: UnsafeMutablePointer<Atomic<UInt32>>

    /// The offset in the memory of the words of the ring to the maker; the words of the other ring follow.
    static let offset = 256
    static let size = 128

    init(at address: UnsafeMutableRawPointer) {
        taken = address.assumingMemoryBound(to: Atomic<UInt64>.self)
        answer = (address + 8).assumingMemoryBound(to: Atomic<UInt32>.self)
        writerWaits = (address + 64).assumingMemoryBound(to: Atomic<UInt32>.self)
    }
}

/// The messages on the socket beside shared memory, one byte each.
enum RegionByte: UInt8 {
    /// The writer releases its region.
    case release = 0
    /// The writer has made a region, whose descriptor comes with the byte.
    case offer = 1
    /// The writer has made a region for blobs, whose descriptor comes with the byte.
    case blob = 2
}
