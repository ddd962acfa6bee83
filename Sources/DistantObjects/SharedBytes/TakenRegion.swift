import PortTransport

/// A region of the peer that this side has mapped.
///
/// Its state is read and written under the connection's lock.
final class TakenRegion: @unchecked Sendable {
    let number: UInt64
    let memory: RegionMemory
    /// Mentions of it that are not given back.
    var mentions: UInt64 = 0

    init(_ number: UInt64, _ memory: RegionMemory) {
        self.number = number
        self.memory = memory
    }

    var size: Int { memory.bytes.count }
}

/// One mention of a region of the peer.
///
/// When the last reference to it is gone, the mention is given back.
final class TakenBlob: Sendable {
    let region: TakenRegion
    private let returns: BlobReturns

    /// To be called under the connection's lock.
    init(_ region: TakenRegion, _ returns: BlobReturns) {
        region.mentions += 1
        self.region = region
        self.returns = returns
    }

    deinit { returns.mentionDied(of: region.number) }
}
