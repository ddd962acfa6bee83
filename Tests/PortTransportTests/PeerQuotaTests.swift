import PortTransport
import Testing

@Suite("Shares of the peers")
struct PeerQuotaTests {
    private let one = PeerIdentity.process(1)
    private let two = PeerIdentity.process(2)
    private let three = PeerIdentity.user(3)

    @Test("A peer has half of what the others leave, and the first piece of what is left")
    func halfInPeerQuota() {
        let quota = PeerQuota(100)
        #expect(quota.reserve(30, for: one) && quota.reserve(20, for: one) && !quota.reserve(1, for: one))
        #expect(quota.reserve(20, for: two) && quota.reserve(5, for: two) && !quota.reserve(1, for: two))
        // More than its half, but it has nothing.
        #expect(quota.reserve(25, for: three) && !quota.reserve(1, for: three))
        #expect(!quota.reserve(1, for: .unknown))
        quota.giveBack(30, for: one)
        #expect(quota.reserve(15, for: .unknown) && !quota.reserve(1, for: .unknown))
        quota.giveBack(20, for: one)
        quota.giveBack(25, for: two)
        quota.giveBack(25, for: three)
        quota.giveBack(15, for: .unknown)
        #expect(!quota.reserve(101, for: two) && quota.reserve(100, for: two))
    }

    @Test("A peer has half of the descriptors, or as many as the program has set")
    func descriptorsInPeerQuota() {
        let descriptors = PeerDescriptors()
        let half = PeerDescriptors.most / 2
        #expect(descriptors.reserve(half, for: one) && !descriptors.reserve(1, for: one))
        #expect(descriptors.reserve(2, for: one, atLeast: half + 2))
        #expect(descriptors.reserve(half, for: two))
        descriptors.giveBack(half + 2, for: one)
        #expect(descriptors.reserve(half, for: one) && !descriptors.reserve(1, for: one))
    }
}
