internal import CPortShims
internal import Synchronization

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// Memory for the bytes of large messages in one direction, in pieces that are used again and again.
///
/// Only its maker can write it, and can do so at any time. So the reader copies each piece once and uses only the copy.
final class Region: @unchecked Sendable {  // The maker's has one writer at a time, the taker's one reader.
    /// As large as a message's copies are quick: in smaller pieces each side waits for the other too often, and in
    /// larger ones the processor's caches hold none of the bytes.
    static let pieceSize = 1 << 20
    static let pieces = 4
    static let size = pieces * pieceSize

    /// The most that this process makes at a time, and the most that it takes from all of its peers: 256 MiB each.
    static let maximumCount = (256 << 20) / size
    private static let made = Atomic<Int>(0)
    private static let taken = Atomic<Int>(0)

    private let memory: UnsafeMutableRawPointer
    private let isMade: Bool
    /// A forked child has no such mapping, and perhaps another one in its place.
    private let forkCount = port_fork_count()

    private init(_ memory: UnsafeMutableRawPointer, isMade: Bool) {
        self.memory = memory
        self.isMade = isMade
    }

    deinit {
        if forkCount == port_fork_count() { port_memory_unmap(memory, Self.size) }
        if isMade { Self.made.subtract(1, ordering: .relaxed) } else { Self.taken.subtract(1, ordering: .relaxed) }
    }

    /// Makes one.
    ///
    /// Returns it and the descriptor for the peer, which the caller closes; nil if the system has no such memory or no
    /// descriptor left, or this process has made enough.
    static func make() -> (region: Region, descriptor: CInt)? {
        guard made.add(1, ordering: .relaxed).oldValue < maximumCount else {
            made.subtract(1, ordering: .relaxed)
            return nil
        }
        var memory: UnsafeMutableRawPointer?
        let descriptor = port_region_make(size, &memory)
        guard descriptor >= 0, let memory else {
            made.subtract(1, ordering: .relaxed)
            return nil
        }
        return (Region(memory, isMade: true), descriptor)
    }

    /// Maps a peer's, whose descriptor stays the caller's.
    ///
    /// Nil if this process cannot map it, or has taken enough.
    /// - Throws: `protocolViolation` if the peer could change its size, take its pages away, or let another process
    ///   write it.
    static func take(_ descriptor: CInt) throws(TransportError) -> Region? {
        guard let memory = port_region_take(descriptor, size) else {
            guard errno != EINVAL else {
                throw TransportError(.protocolViolation, "a region is not sealed, not allocated, or of another size")
            }
            return nil
        }
        let region = Region(memory, isMade: false)
        return taken.add(1, ordering: .relaxed).newValue <= maximumCount ? region : nil
    }

    /// The place of the piece that comes after so many others.
    func piece(_ position: UInt64) -> UnsafeMutableRawBufferPointer {
        let index = Int(truncatingIfNeeded: position % UInt64(Self.pieces))
        return UnsafeMutableRawBufferPointer(start: memory + index * Self.pieceSize, count: Self.pieceSize)
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
}
