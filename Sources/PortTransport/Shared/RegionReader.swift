internal import Synchronization

/// The reading side of the regions of one direction.
struct RegionReader: ~Copyable {
    private let words: RegionWords
    private let peer: PeerIdentity
    private var region: Region?
    /// Whether the writer has offered a region that it has not released.
    ///
    /// It does not know at once that this side could not map it.
    private var isOffered = false
    private var offers: UInt32 = 0
    private var position: UInt64 = 0
    private var admits = false
    /// The pieces that may still come before the ring is next read: the writer had no more when it wrote these frames.
    private var left = 0

    init(_ words: RegionWords, from peer: PeerIdentity) {
        self.words = words
        self.peer = peer
    }

    /// From now on the writer may offer regions.
    mutating func admit() {
        admits = true
        words.answer.pointee.store(1, ordering: .releasing)
    }

    /// The ring is about to be read.
    @inline(__always)
    mutating func beginRead() { left = Region.pieces }

    /// Takes the region that the writer offers.
    ///
    /// - Parameter descriptors: The descriptors that came with the byte, which the caller closes; nil if they were lost
    ///   on the way.
    /// - Throws: `protocolViolation` if no region was asked for, or it is not one that the protocol prescribes.
    mutating func take(_ descriptors: [CInt]?) throws(TransportError) {
        guard admits, !isOffered else {
            throw TransportError(.protocolViolation, "a region came that nobody asked for")
        }
        guard descriptors.map({ $0.count == 1 }) ?? true else {
            throw TransportError(.protocolViolation, "a region comes with one descriptor")
        }
        if let descriptor = descriptors?.first { region = try Region.take(descriptor, from: peer) }
        isOffered = true
        offers &+= 1
        admits = region != nil
        words.answer.pointee.store(admits ? 1 &+ offers : 0, ordering: .releasing)
    }

    /// The writer has released its region.
    ///
    /// - Throws: `protocolViolation` if it has none.
    mutating func release() throws(TransportError) {
        guard isOffered else { throw TransportError(.protocolViolation, "a region was released that does not exist") }
        isOffered = false
        region = nil
        if admits { words.answer.pointee.store(1, ordering: .releasing) }
    }

    mutating func drop() { region = nil }

    /// Copies the next piece, whose length is the length of the target.
    ///
    /// - Parameters:
    ///   - target: The memory to copy to.
    ///   - ring: Called when the writer wants to be notified.
    /// - Throws: `protocolViolation` if there is no such piece.
    mutating func read(
        into target: UnsafeMutableRawBufferPointer, ring: () -> Void
    ) throws(TransportError) {
        guard let region else { throw TransportError(.protocolViolation, "a piece of a region that does not exist") }
        guard left > 0, target.count <= Region.pieceSize else {
            throw TransportError(.protocolViolation, "more in pieces of a region than it has")
        }
        left -= 1
        // The writer may change the bytes meanwhile. They are read once, here.
        target.copyMemory(from: UnsafeRawBufferPointer(rebasing: region.piece(position)[..<target.count]))
        position &+= 1
        words.taken.pointee.store(position, ordering: .releasing)
        // Either the writer finds the piece free when it checks again, or its request is found here.
        atomicMemoryFence(ordering: .sequentiallyConsistent)
        if SharedCounters.takeRequest(words.writerWaits) { ring() }
    }
}
