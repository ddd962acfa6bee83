import CPortShims
import DistantObjects
import TestSupport
import Testing

#if canImport(Glibc)
    import Glibc

    // The rules of `Frames.md` about regions.
    extension Check {
        static let regions = [
            Check("an unsealed region", "with the seals `F_SEAL_SHRINK`, `F_SEAL_GROW`", of: .frames) {
                try await RegionAbuseTests().offersInRegionAbuse(.unsealed)
            },
            Check("a region of another size", "A region is a memfd in tmpfs, of that size", of: .frames) {
                try await RegionAbuseTests().offersInRegionAbuse(.small)
            },
            Check("another byte on the socket", "Any other byte on it breaks the protocol.", of: .frames) {
                try await RegionAbuseTests().offersInRegionAbuse(.anotherByte)
            },
            Check("a second region", "a region beside another one or before `answer` was set", of: .frames) {
                try await RegionAbuseTests().offersInRegionAbuse(.twice)
            },
            Check("a piece of no region", "a piece or the byte 0 without a region", of: .frames) {
                try await RegionAbuseTests().noRegionInRegionAbuse(released: false)
            },
            Check("a release of no region", "a piece or the byte 0 without a region", of: .frames) {
                try await RegionAbuseTests().offersInRegionAbuse(.release)
            },
            Check("a second release", "once, since it may not have looked at `answer`.", of: .frames) {
                try await RegionAbuseTests().offersInRegionAbuse(.secondRelease)
            },
            Check("more pieces than a region has", "more pieces than can wait break the protocol.", of: .frames) {
                try await RegionAbuseTests().tooMuchInRegionAbuse(longPiece: false)
            },
            Check(
                "the length of a piece", "The next `count` bytes of the message, 1 to 1,048,576,", of: .frames
            ) { try await RegionAbuseTests().tooMuchInRegionAbuse(longPiece: true) },
            Check(
                "a piece that changes while it is read", "The writer can change a piece while it is read.", of: .frames
            ) { try await RegionAbuseTests().rewrittenInRegionAbuse() },
            Check(
                "an offer after a release", "Then the writer may offer another.", of: .frames
            ) {
                let peer = try await RegionPeer()
                for offer in 1...3 {
                    let region = try await peer.offer(awaiting: UInt32(1 + offer))
                    port_memory_unmap(region, RegionPeer.size)
                    peer.send(0)
                }
                #expect(!peer.taker.connection.isEnded)
                peer.taker.raw.close()
                _ = await peer.taker.connection.ended
                peer.taker.close()
            },
        ]
    }
#else
    extension Check {
        static let regions: [Check] = []
    }
#endif
