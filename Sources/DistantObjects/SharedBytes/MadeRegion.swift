import PortTransport

/// A region that this side has made for blobs.
///
///     offered --(the peer has taken it)--> taken --(not used for a second or two)--> released
///         \--(the peer takes it not)--> dropped
///
/// While it is taken, it is free if no blob is in it here and the peer has given all mentions back. Its state is read and
/// written under the connection's lock.
final class MadeRegion: @unchecked Sendable {
    let number: UInt64
    let memory: RegionMemory
    /// Whether messages may mention it.
    var isTaken = false
    /// Blobs in it that this process holds.
    var handles = 0
    /// Mentions of it that the peer has not given back.
    var mentions: UInt64 = 0
    /// Whether it was used since the last look for idle ones.
    var wasUsed = true

    init(_ number: UInt64, _ memory: RegionMemory) {
        self.number = number
        self.memory = memory
    }

    var isFree: Bool { handles == 0 && mentions == 0 }
    var size: Int { memory.bytes.count }
}

/// A blob in a region of this side.
///
/// When the last reference to it is gone, and the peer holds no mention either, the region takes another one.
final class MadeBlob: Sendable {
    let region: MadeRegion
    private let returns: BlobReturns

    /// To be called under the connection's lock.
    init(_ region: MadeRegion, _ returns: BlobReturns) {
        region.handles += 1
        region.wasUsed = true
        self.region = region
        self.returns = returns
    }

    deinit { returns.handleDied(of: region.number) }
}
