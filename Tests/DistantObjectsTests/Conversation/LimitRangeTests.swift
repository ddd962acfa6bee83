import Testing

@testable import DistantObjects

@Suite("The range of limits")
struct LimitRangeTests {
    private struct Meter: AnswerMeter {
        var unsentAnswers = 0
        var writtenAnswers: UInt64 = 0
    }

    @Test("Results are dropped above four times the limit of unread answers", arguments: [16 << 20, 1_024])
    func hardBoundInLimitRange(limit: Int) {
        var flow = AnswerFlow(limit: limit)
        let most = Meter(unsentAnswers: 4 * limit)
        flow.add(most.unsentAnswers)
        let isFull = flow.isFull(most)
        #expect(!isFull)
        flow.add(1)
        let isFullAbove = flow.isFull(Meter(unsentAnswers: 4 * limit + 1))
        #expect(isFullAbove)
        // The channel has written some of them since.
        let isFullAfterwards = flow.isFull(most)
        #expect(!isFullAfterwards)
    }

    @Test("A limit of messages above that of the archives inside is lowered to it")
    func messagesInLimitRange() {
        var limits = ConnectionLimits()
        limits.message = 1 << 30
        limits.clamp()
        #expect(limits.message == 256 << 20)
        limits.archive.bytes = 1 << 20
        limits.clamp()
        #expect(limits.message == 1 << 20)
        limits.message = 100_000
        limits.clamp()
        #expect(limits.message == 100_000)
        // Every peer may send messages of so many bytes.
        limits.archive.bytes = 1_000
        limits.clamp()
        #expect(limits.message == Int(ProtocolLimits.smallestMessage))
    }

    @Test(
        "A listener's limits know of each other and of the descriptors",
        arguments: [(1_008, 1_008, 504), (224, 224, 112), (100_000, 10_000, 1_000), (0, 1, 1)])
    func descriptorsInLimitRange(_ most: Int, _ connections: Int, _ ofPeer: Int) {
        var limits = ConnectionLimits()
        limits.fit(descriptors: most)
        #expect(limits.connections == connections && limits.connectionsOfPeer == ofPeer)
        // What the program sets stays.
        limits.connectionsOfPeer = 900
        limits.connections = 20
        limits.fit(descriptors: most)
        #expect(limits.connections == min(20, max(1, most)) && limits.connectionsOfPeer == 900)
        limits.connectionsOfPeer = nil
        limits.fit(descriptors: 1_008)
        #expect(limits.connectionsOfPeer == limits.connections / 2 || limits.connections == 1)
    }
}
