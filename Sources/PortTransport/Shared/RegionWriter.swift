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
    /// The peer's words cannot be right.
    case broken
}

/// The writing side of the regions of one direction.
///
///     none ────offer────▶ offered ──the reader has taken it──▶ taken
///      ▲  ▲                │   │                                │
///      │  └────release─────┘   └──the reader takes none──▶ none │
///      └──────────────────────release, when idle────────────────┘
///
/// What it has filled it counts itself; of the reader's words it believes only what can be true.
struct RegionWriter: ~Copyable {
    private enum State {
        case none
        case offered(Region)
        case taken(Region)
    }

    /// So many bytes of large messages have to go through the ring before a region is worth the time that it takes to
    /// make it.
    private static let worthwhile = 2 << 20

    private let words: RegionWords
    private var state = State.none
    private var offers: UInt32 = 0
    /// Pieces filled ever, and read, as far as is known.
    private var position: UInt64 = 0
    private var taken: UInt64 = 0
    /// Bytes of large messages that went through the ring since there was a region.
    private var streamed = 0
    /// Pieces filled at the last look for idleness.
    private var seen: UInt64 = 0

    init(_ words: RegionWords) { self.words = words }

    /// Whether the reader has read the last byte of the socket that is not one of these, as far as is known.
    ///
    /// Any thread may ask while the memory is mapped.
    var mayOffer: Bool { words.answer.pointee.load(ordering: .acquiring) != 0 }

    /// Where the next bytes of a large message go.
    ///
    /// - Parameters:
    ///   - most: The pieces that may wait to be read.
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

    /// The piece that `room` has named is filled; the frame that says so follows.
    mutating func filled() { position &+= 1 }

    /// Bytes of a large message went through the ring.
    ///
    /// - Parameter send: Sends a descriptor with its byte; false if it cannot be sent.
    /// - Returns: Whether a region was offered.
    mutating func streamed(_ count: Int, send: (RegionByte, CInt) -> Bool) -> Bool {
        guard case .none = state else { return false }
        streamed += count
        guard streamed >= Self.worthwhile, words.answer.pointee.load(ordering: .acquiring) != 0 else { return false }
        // If it fails it is tried again, but not for each message.
        streamed = 0
        guard let (region, descriptor) = Region.make() else { return false }
        defer { port_close(descriptor) }
        guard send(.offer, descriptor) else { return false }
        offers &+= 1
        state = .offered(region)
        seen = position &- 1
        return true
    }

    /// Releases a region that was not used since the last call.
    ///
    /// - Returns: Whether there still is one.
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

    /// Looks how far the reader is; false if it cannot be there.
    private mutating func update() -> Bool {
        let now = words.taken.pointee.load(ordering: .acquiring)
        guard now &- taken <= position &- taken else { return false }
        taken = now
        return true
    }
}
