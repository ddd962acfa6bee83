/// The eight bytes before each frame's body.
///
///     0        4      5       6             8
///     +--------+------+-------+-------------+- - - -
///     | length | kind | flags | descriptors | body
///     +--------+------+-------+-------------+- - - -
///
/// All numbers are little-endian; `length` counts the body alone.
package struct FrameHeader: Sendable, Hashable {
    package static let size = 8
    /// Bytes of a continuation before its payload: the header and the opener's number.
    package static let continuationSize = size + 8
    /// Bytes of a continuation whose payload lies in a region: the header, the opener's number, and the payload's length.
    package static let pieceSize = continuationSize + 4
    /// The kind of frame that continues a large message; every other kind belongs to the layer above.
    package static let continuationKind: UInt8 = 0xFF
    /// On an opener: the body begins with the length of what follows in continuations.
    package static let fragmentedFlag: UInt8 = 0x80
    /// On a continuation: nothing of the message follows.
    package static let lastFlag: UInt8 = 0x01
    /// On a continuation: the sender gave the message up.
    package static let abortFlag: UInt8 = 0x02
    /// On a continuation: its bytes lie in the next piece of a region.
    package static let pieceFlag: UInt8 = 0x04

    package var length: UInt32
    package var kind: UInt8
    package var flags: UInt8
    package var descriptors: UInt16

    package init(length: UInt32, kind: UInt8, flags: UInt8 = 0, descriptors: UInt16 = 0) {
        self.length = length
        self.kind = kind
        self.flags = flags
        self.descriptors = descriptors
    }

    /// Reads the header at `address`, which has to have eight bytes.
    @inline(__always)
    init(at address: UnsafeRawPointer) {
        let bits = UInt64(littleEndian: address.loadUnaligned(as: UInt64.self))
        length = UInt32(truncatingIfNeeded: bits)
        kind = UInt8(truncatingIfNeeded: bits >> 32)
        flags = UInt8(truncatingIfNeeded: bits >> 40)
        descriptors = UInt16(truncatingIfNeeded: bits >> 48)
    }

    @inline(__always)
    package func write(to address: UnsafeMutableRawPointer) {
        let bits = UInt64(length) | UInt64(kind) << 32 | UInt64(flags) << 40 | UInt64(descriptors) << 48
        address.storeBytes(of: bits.littleEndian, as: UInt64.self)
    }

    /// Sets the number of descriptors in the header at `address` to 0.
    static func clearDescriptors(at address: UnsafeMutableRawPointer) {
        var header = FrameHeader(at: address)
        header.descriptors = 0
        header.write(to: address)
    }
}
