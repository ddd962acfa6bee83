/// The sizes in which a channel writes large messages and uses shared memory.
///
/// The receiver accepts any of them. The defaults are the fastest; tests use the smallest, so that messages are cut
/// everywhere.
package struct OutputSizes: Sendable, Equatable {
    /// The most bytes in a continuation, which bounds how long a frame behind it waits.
    package var continuation = 64 << 10
    /// The most bytes in a continuation while other frames are sent and received.
    package var narrowContinuation = 16 << 10
    /// The most bytes that wait in the ring of the shared memory.
    package var ring = SharedMemoryTransport.capacity
    /// A smaller message takes no pieces of a region.
    package var smallestForPieces = 256 << 10
    /// A smaller rest of a message goes into the stream.
    package var smallestPiece = 32 << 10
    /// The most bytes in a piece.
    package var piece = Region.pieceSize
    /// The most bytes in a piece while other frames are sent and received.
    package var narrowPiece = 64 << 10
    /// A region is made only after so many bytes of large messages have gone through the ring: making one takes time.
    package var streamedBeforeRegion = 2 << 20

    package init() {}

    /// The sizes with each in the range that the protocol and this implementation allow.
    var inRange: OutputSizes {
        var sizes = self
        sizes.continuation = min(max(1, continuation), 64 << 10)
        sizes.narrowContinuation = min(max(1, narrowContinuation), sizes.continuation)
        sizes.ring = min(max(1, ring), SharedMemoryTransport.capacity)
        sizes.smallestForPieces = max(1, smallestForPieces)
        sizes.smallestPiece = max(1, smallestPiece)
        sizes.piece = min(max(1, piece), Region.pieceSize)
        sizes.narrowPiece = min(max(1, narrowPiece), sizes.piece)
        return sizes
    }

    /// Channels with the defaults share one object.
    final class Shared: Sendable {
        let value: OutputSizes

        private init(_ value: OutputSizes) { self.value = value }

        static let plain = Shared(OutputSizes())

        static func of(_ sizes: OutputSizes) -> Shared { sizes == plain.value ? plain : Shared(sizes.inRange) }
    }
}
