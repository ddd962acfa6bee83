/// How far both sides are on their way from the socket to memory they share.
struct Sharing {
    enum Phase: UInt8 {
        /// One of them does not, or cannot.
        case never
        case possible
        /// We have asked the other to make the memory.
        case asked
        /// It was made, and our frames go through it, or will once the other's do.
        case agreed
        /// Frames go through it both ways.
        case done
    }

    var phase: Phase
    /// When the traffic was looked at last.
    private var seenAt: UInt64 = 0

    init(_ phase: Phase) { self.phase = phase }

    /// Whether the traffic is worth the memory: another bunch of messages has come, soon after the one before.
    mutating func isBusy(now: UInt64, within nanoseconds: UInt64) -> Bool {
        defer { seenAt = now }
        return now &- seenAt <= nanoseconds
    }
}

/// What became of the memory that the peer was asked for.
enum MemoryOutcome {
    case taken
    /// There is none, or this process cannot open it.
    ///
    /// - isOffered: The peer has made some.
    case none(isOffered: Bool)
}
