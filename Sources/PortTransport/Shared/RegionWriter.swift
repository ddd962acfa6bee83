internal import CPortShims
internal import Synchronization

/// Where the next bytes of a large message go.
enum MessageRoom {
    /// Into the stream, behind a continuation's header.
    case stream
    /// Into a piece of a region.
    case piece(UnsafeMutableRawBufferPointer)
    /// Nowhere, until the peer has read a piece.
    case none
    /// The peer's words are invalid.
    case broken
}

/// The writing side of the regions of one direction.
///
///     none ────offer────▶ offered ──the reader has taken it──▶ taken
///      ▲  ▲                │   │                                │
///      │  └────release─────┘   └──the reader takes none──▶ none │
///      └──────────────────────release, when idle────────────────┘
///
/// The writer counts the pieces that it has filled, and accepts a count from the reader only if it is possible.
struct RegionWriter: ~Copyable {
    private enum State {
        case none
        case offered(Region)
        case taken(Region)
    }

    private let words: RegionWords
    private let peer: PeerIdentity
    private var state = State.none
    private var offers: UInt32 = 0
    /// The number of pieces filled so far, and the last known number of pieces read.
    private var position: UInt64 = 0
    private var taken: UInt64 = 0
    /// Bytes of large messages that went through the ring since there was a region.
    private var streamed = 0
    /// The number of pieces filled at the last check for idleness.
    private var seen: UInt64 = 0

    init(_ words: RegionWords, for peer: PeerIdentity) {
        self.words = words
        self.peer = peer
    }

    /// Whether the reader has said that a byte on the socket now means a region: it has read everything else from the
    /// socket.
    ///
    /// Any thread may ask while the memory is mapped.
    var mayOffer: Bool { words.answer.pointee.load(ordering: .acquiring) != 0 }

    /// The place for the next bytes of a large message.
    ///
    /// - Parameters:
    ///   - most: The most pieces that may wait to be read.
    ///   - beforeRequest: Called before the reader is asked to report a free piece.
    mutating func room(most: Int, beforeRequest: () -> Void) -> MessageRoom {
        if case .offered(let region) = state {
            let answer = words.answer.pointee.load(ordering: .acquiring)
            if answer == 0 { state = .none }
            if answer == 1 &+ offers { state = .taken(region) }
        }
        guard case .taken(let region) = state else { return .stream }
        let bound = UInt64(min(most, Region.pieces))
        if position &- taken >= bound {
            guard update() else { return .broken }
            if position &- taken >= bound {
                beforeRequest()
                words.writerWaits.pointee.store(1, ordering: .releasing)
                atomicMemoryFence(ordering: .sequentiallyConsistent)
                guard update() else { return .broken }
                if position &- taken >= bound { return .none }
            }
        }
        return .piece(region.piece(position))
    }

    /// The piece that `room` has returned is filled; the frame that says so follows.
    mutating func filled() { position &+= 1 }

    /// Counts bytes of a large message that went through the ring, and offers a region if that is worth it.
    ///
    /// - Parameters:
    ///   - count: The number of bytes.
    ///   - least: How many bytes make a region worth it.
    ///   - send: Sends a descriptor with its byte; false if it cannot be sent.
    /// - Returns: Whether a region was offered.
    mutating func streamed(_ count: Int, regionAfter least: Int, send: (RegionByte, CInt) -> Bool) -> Bool {
        guard case .none = state else { return false }
        streamed += count
        guard streamed >= least, words.answer.pointee.load(ordering: .acquiring) != 0 else { return false }
        // A failed attempt is repeated, but only after as many bytes again.
        streamed = 0
        guard let (region, descriptor) = Region.make(for: peer) else { return false }
        defer { port_close(descriptor) }
        guard send(.offer, descriptor) else { return false }
        offers &+= 1
        state = .offered(region)
        seen = position &- 1
        return true
    }

    /// Releases a region that was not used since the last call.
    ///
    /// - Returns: Whether there still is a region.
    mutating func releaseIfIdle(send: (RegionByte, CInt) -> Bool) -> Bool {
        if case .none = state { return false }
        guard seen == position, update(), taken == position, send(.release, -1) else {
            seen = position
            return true
        }
        drop()
        return false
    }

    mutating func drop() {
        state = .none
        streamed = 0
    }

    /// Reads the reader's count; false if the count is impossible.
    private mutating func update() -> Bool {
        let now = words.taken.pointee.load(ordering: .acquiring)
        guard now &- taken <= position &- taken else { return false }
        taken = now
        return true
    }
}
