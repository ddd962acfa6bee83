/// The progress of the switch from the socket to shared memory.
struct Sharing {
    enum Phase: UInt8 {
        /// One of the sides does not support shared memory, or has declined it.
        case never
        case possible
        /// This side has asked the peer to make the memory.
        case asked
        /// The memory exists. The initiator sends through it; the other side does once the initiator has begun.
        case agreed
        /// Both sides send through the memory.
        case done
    }

    // The time of the last check of the traffic, and the number of frames of both directions until then.
    private var seenAt: UInt64 = 0
    private var seenFrames: UInt64 = 0

    var phase: Phase
    /// Whether memory is worth sharing whatever the traffic is.
    private var isWanted = false

    init(_ phase: Phase) { self.phase = phase }

    /// Makes the next batch of frames count as busy.
    mutating func want() {
        isWanted = true
        seenFrames = 1 << 63
    }

    /// Whether enough frames were received and sent since the last check to check the traffic again.
    ///
    /// Both directions count, because an initiator that only sends receives few frames.
    @inline(__always)
    func hasBatch(_ frames: UInt64, of size: UInt64) -> Bool { frames &- seenFrames >= size }

    /// Whether the traffic is worth shared memory.
    ///
    /// The function is called after each batch of frames.
    mutating func isBusy(frames: UInt64, now: UInt64, within nanoseconds: UInt64) -> Bool {
        defer { (seenAt, seenFrames) = (now, frames) }
        return isWanted || now &- seenAt <= nanoseconds
    }
}

/// The outcome of a request for shared memory.
enum MemoryOutcome {
    case taken
    /// The peer made no memory, or, if `isOffered`, this process could not open it.
    case none(isOffered: Bool)
}
