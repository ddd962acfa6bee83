import CPortShims
import TestSupport
import Testing

@testable import PortTransport

/// A full channel asks its owner to go on when half of the limit is unsent, neither before nor only at the end.
///
/// The test is the peer. It reads some bytes at a time, and the link holds at most 1,000 bytes.
@Suite("Room for more to write", .bounded())
struct RoomTests {
    private static let linkCapacity = 1_000

    /// A channel, and the other end of its link.
    private final class Side {
        let channel: Channel
        private let loop = ManualLoop()
        private let recorder = Recorder()
        private let end: MemoryLink.End
        private let deliveriesAtStart: Int

        init(unsentFrames: Int = 1 << 20, unsentMessages: Int = 1 << 20, mostUnsentFrames: Int = 1 << 30) throws {
            let (ours, theirs) = MemoryLink.pair(capacity: RoomTests.linkCapacity)
            guard case .memory(let end)? = theirs.take() else { throw TransportError(.cancelled, "The end is taken.") }
            var configuration = ChannelConfiguration(answerKind: 1)
            configuration.unsentFrames = unsentFrames
            configuration.unsentMessages = unsentMessages
            configuration.mostUnsentFrames = mostUnsentFrames
            self.end = end
            channel = Channel(endpoint: ours, loop: loop, configuration: configuration)
            channel.start(recorder)
            loop.runUntilIdle()
            deliveriesAtStart = recorder.state.withLock { $0.deliveries }
        }

        /// How often the handler was notified.
        var notices: Int {
            loop.runUntilIdle()
            return recorder.state.withLock { $0.deliveries } - deliveriesAtStart
        }

        /// Why the channel has ended; nil if it has not.
        var reason: ChannelEnd? {
            loop.runUntilIdle()
            return recorder.state.withLock { $0.ends.first }
        }

        var unsentMessages: Int { channel.queueLock.withLock { channel.writing.queue.unsentOwnMessages } }

        /// Sends a whole frame that takes 1,000 bytes.
        func sendFrame(isAnswer: Bool = false) {
            channel.send(pattern(1_000 - FrameHeader.size), kind: isAnswer ? 1 : 2)
        }

        /// Reads so many bytes, and lets the channel write on.
        ///
        /// - Returns: How many there were.
        @discardableResult
        func read(_ count: Int) -> Int {
            var left = count
            while left > 0 {
                var bytes = [UInt8](repeating: 0, count: min(left, RoomTests.linkCapacity))
                let got = bytes.withUnsafeMutableBytes { bytes in
                    var vector = iovecType(iov_base: bytes.baseAddress, iov_len: bytes.count)
                    return end.read(&vector, 1)
                }
                guard got > 0 else { break }
                left -= got
                loop.runUntilIdle()
            }
            return count - left
        }

        func readToEnd() { while read(1 << 20) > 0 {} }
    }

    @Test("A full queue of whole frames is open again when half of the limit is unsent")
    func frames() throws {
        let side = try Side(unsentFrames: 10_000)
        // The link takes the first one.
        for _ in 0..<10 { side.sendFrame() }
        #expect(!side.channel.isFrameQueueFull)
        side.sendFrame()
        #expect(side.channel.isFrameQueueFull)
        side.read(4_999)
        #expect(side.channel.isFrameQueueFull && side.notices == 0)
        side.read(1)
        #expect(!side.channel.isFrameQueueFull && side.notices == 1)
        #expect(side.channel.queuedBytes == 5_000)
        side.readToEnd()
        #expect(side.notices == 1)
    }

    @Test("A channel whose peer reads nothing ends when too many small frames are unsent")
    func unreadInRoom() throws {
        let side = try Side(unsentFrames: 10_000, mostUnsentFrames: 50_000)
        // The link takes the first one.
        for _ in 0..<51 { side.sendFrame() }
        #expect(side.reason == nil)
        side.sendFrame()
        guard case .failed(let error)? = side.reason else { throw TransportError(.cancelled, "The channel goes on.") }
        #expect(error.code == .limitExceeded)
        let queued = side.channel.queuedBytes
        side.sendFrame()
        #expect(side.channel.queuedBytes <= queued)
    }

    @Test("Answers neither fill the queue of whole frames nor take room from it")
    func answersApart() throws {
        let side = try Side(unsentFrames: 10_000, unsentMessages: 100_000)
        for _ in 0..<30 { side.sendFrame(isAnswer: true) }
        side.channel.sendLarge(pattern(200_000), kind: 1)
        #expect(!side.channel.isFrameQueueFull)
        #expect(side.channel.hasMessageRoom(for: 100_000))
        for _ in 0..<10 { side.sendFrame() }
        #expect(side.channel.isFrameQueueFull)
        #expect(side.channel.unsentAnswers == 29_000 + 16 + 200_000)
    }

    @Test(
        "A large message has room when it fits and half of the limit is unsent",
        arguments: [(400_000, 500_000), (900_000, 100_000), (2_000_000, 0)])
    func largeMessagesInRoom(wanted: Int, mark: Int) throws {
        let side = try Side(unsentMessages: 1_000_000)
        for _ in 0..<2 { side.channel.sendLarge(pattern(400_000)) }
        #expect(!side.channel.hasMessageRoom(for: wanted))
        var before = side.unsentMessages
        while side.notices == 0 {
            #expect(side.unsentMessages > mark)
            before = side.unsentMessages
            try #require(side.read(1_000) > 0)
        }
        #expect(before > mark && side.unsentMessages <= mark)
        #expect(side.channel.hasMessageRoom(for: wanted))
        side.readToEnd()
        #expect(side.notices == 1)
    }

    @Test("The owner is notified when as few answers are unsent as it asked for, whatever else is")
    func answersInRoom() throws {
        let side = try Side()
        // The link takes the first one.
        side.sendFrame()
        for _ in 0..<10 {
            side.sendFrame(isAnswer: true)
            side.sendFrame()
        }
        #expect(side.channel.unsentAnswers == 10_000)
        side.channel.notifyWhenAnswers(areAtMost: 5_000)
        side.read(8_999)
        #expect(side.channel.unsentAnswers == 6_000 && side.notices == 0)
        side.read(1)
        #expect(side.channel.unsentAnswers == 5_000 && side.notices == 1)
        side.readToEnd()
        #expect(side.notices == 1)
        side.channel.notifyWhenAnswers(areAtMost: 0)
        #expect(side.notices == 2)
    }

    @Test("The same for answers in fragments, each byte of which counts as soon as it is written")
    func largeAnswers() throws {
        let side = try Side()
        for _ in 0..<2 { side.channel.sendLarge(pattern(100_000), kind: 1) }
        side.channel.notifyWhenAnswers(areAtMost: 100_000)
        var before = side.channel.unsentAnswers
        while side.notices == 0 {
            #expect(side.channel.unsentAnswers > 100_000)
            before = side.channel.unsentAnswers
            try #require(side.read(1_000) > 0)
        }
        #expect(before > 100_000 && side.channel.unsentAnswers <= 100_000)
        #expect(side.channel.unsentAnswers > 98_000)
    }
}
