internal import CPortShims

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// Memory that only its maker can write, and that one other process reads.
///
/// Its maker can write it at any time, so its reader must expect that the bytes change from one read to the next. It is
/// unmapped when the last reference is gone.
package final class RegionMemory: @unchecked Sendable {
    // The addresses never change. The owner decides which thread may use the bytes.

    /// The use of such memory: each purpose has quotas of its own.
    ///
    /// They limit the bytes that this process makes at a time, or takes, and leave each peer a share.
    package struct Purpose: Sendable {
        let made: PeerQuota
        let taken: PeerQuota

        init(bytes: Int) {
            made = PeerQuota(bytes)
            taken = PeerQuota(bytes)
        }

        /// Raises what this process makes and takes to at least so many bytes.
        package func allow(_ bytes: Int) {
            made.raise(to: bytes)
            taken.raise(to: bytes)
        }

        /// The pieces of large messages.
        static let pieces = Purpose(bytes: 256 << 20)
        /// Byte values with memory of their own.
        package static let blobs = Purpose(bytes: 4 * mostOfBlobs)
        /// The bytes that a connection makes for such values in one direction, unless the program says otherwise: a
        /// sixteenth of the machine's memory, but not less than 64 MiB, and not more than 256 MiB.
        package static let mostOfBlobs = min(
            max(RegionMemory.most, RegionMemory.physicalMemory / 16), 4 * RegionMemory.most)
    }

    /// The bytes of the machine's memory.
    private static var physicalMemory: Int {
        let (pages, overflow) = max(0, sysconf(CInt(_SC_PHYS_PAGES))).multipliedReportingOverflow(
            by: max(0, sysconf(CInt(_SC_PAGESIZE))))
        return overflow ? .max : pages
    }

    package let bytes: UnsafeMutableRawBufferPointer
    private let quota: PeerQuota
    private let peer: PeerIdentity
    /// A forked child does not have this mapping, and may have another one at its address.
    private let forkCount = port_fork_count()

    private init(_ memory: UnsafeMutableRawPointer, _ size: Int, _ quota: PeerQuota, _ peer: PeerIdentity) {
        bytes = UnsafeMutableRawBufferPointer(start: memory, count: size)
        self.quota = quota
        self.peer = peer
    }

    deinit {
        if forkCount == port_fork_count() { port_memory_unmap(bytes.baseAddress, bytes.count) }
        quota.giveBack(bytes.count, for: peer)
    }

    /// Makes memory of zeros.
    ///
    /// Returns it and the descriptor for the peer, which the caller closes; nil if the system has no such memory or no
    /// descriptor left, or the peer has reached its share of the quota.
    package static func make(_ size: Int, for purpose: Purpose, with peer: PeerIdentity) -> (
        memory: RegionMemory, descriptor: CInt
    )? {
        guard purpose.made.reserve(size, for: peer) else { return nil }
        var memory: UnsafeMutableRawPointer?
        let descriptor = port_region_make(size, &memory)
        guard descriptor >= 0, let memory else {
            purpose.made.giveBack(size, for: peer)
            return nil
        }
        return (RegionMemory(memory, size, purpose.made, peer), descriptor)
    }

    /// Maps the memory of a peer.
    ///
    /// The caller keeps the descriptor and closes it.
    ///
    /// Nil if this process cannot map it, or the peer has reached its share of the quota.
    /// - Parameters:
    ///   - descriptor: The descriptor that the peer has sent.
    ///   - size: The size that the memory has to have; nil for any multiple of `grain` up to `most`.
    ///   - largest: The most bytes that the peer may offer.
    ///   - room: The most bytes that the caller has room for.
    ///   - purpose: Which quota the memory counts against.
    ///   - peer: The peer, whose share it counts against.
    /// - Throws: `protocolViolation` if the peer could change the size, take pages away, or let another process write
    ///   the memory.
    package static func take(
        _ descriptor: CInt, size: Int? = nil, largest: Int = most, atMost room: Int = most, for purpose: Purpose,
        from peer: PeerIdentity
    ) throws(TransportError) -> RegionMemory? {
        let size = size ?? Int(clamping: port_region_size(descriptor))
        guard size > 0, size <= largest, size % grain == 0 else { throw foreign }
        guard size <= room, purpose.taken.reserve(size, for: peer) else { return nil }
        guard let memory = port_region_take(descriptor, size) else {
            let number = errno
            purpose.taken.giveBack(size, for: peer)
            guard number != EINVAL else { throw foreign }
            return nil
        }
        return RegionMemory(memory, size, purpose.taken, peer)
    }

    /// The size is a multiple of this, so that a process cannot be made to map many small regions.
    package static let grain = 64 << 10
    /// The most bytes of a region, unless both sides have agreed on larger ones.
    package static let most = 64 << 20

    private static var foreign: TransportError {
        TransportError(.protocolViolation, "a region is not sealed, not allocated, or of another size")
    }
}
