import TestSupport
import Testing

@testable import PortTransport

@Suite("A thread that writes while others enqueue", .bounded())
struct FlushingTests {
    @Test("It writes for a while only, and the loop goes on with the rest", arguments: [1, 30_000])
    func handsOver(size: Int) {
        let frame = pattern(size)
        let others = 20_000_000 / (size + 1_000)
        let loop = ManualLoop()
        let (first, second) = MemoryLink.pair()
        let there = Recorder()
        let (a, b) = (Channel(endpoint: first, loop: loop), Guarded<Channel?>(nil))
        let count = Guarded(others)
        // Another thread, as it were, is quick enough to enqueue a frame while one is written, and to read each.
        let reading = ReadingLoop(loop) {
            b.withLock { $0 }?.perform(.read)
            let isNext = count.withLock { count in
                count += 1
                return count <= others
            }
            if isNext { a.send(frame) }
        }
        let channel = Channel(endpoint: second, loop: reading)
        b.withLock { $0 = channel }
        a.start(Recorder())
        channel.start(there)
        count.withLock { $0 = 0 }

        a.send(frame)
        #expect(count.withLock { $0 } < others)
        #expect(a.queuedBytes > 0)
        // The loop has other work between two portions.
        loop.perform { count.withLock { #expect($0 < others) } }
        loop.runUntilIdle()
        #expect(count.withLock { $0 } > others)
        let numbers = there.items.map { item -> UInt64 in
            guard case .frame(_, _, let number, _, _) = item else { return 0 }
            return number
        }
        #expect(numbers == Array(1...UInt64(others + 1)))
        #expect(a.queuedBytes == 0)
        b.withLock { $0 = nil }
        a.cancel(TransportError(.cancelled, "The test is over."))
        loop.runUntilIdle()
    }

    /// A loop that has bytes read as soon as they are written, by the thread that writes them.
    private final class ReadingLoop: PortLoop, @unchecked Sendable {  // Nothing in it changes.
        private let base: ManualLoop
        private let read: @Sendable () -> Void

        init(_ base: ManualLoop, read: @escaping @Sendable () -> Void) {
            self.base = base
            self.read = read
        }

        var isCurrent: Bool { base.isCurrent }
        var now: UInt64 { base.now }

        func enqueue(_ job: consuming ExecutorJob) { base.enqueue(job) }
        func enqueue(_ job: UnownedJob, by runner: any JobRunner) { base.enqueue(job, by: runner) }
        func perform(_ work: @escaping @Sendable () -> Void) { base.perform(work) }
        func flushAtEndOfIteration(_ channel: LoopChannel) -> Bool { base.flushAtEndOfIteration(channel) }
        func cancelTimer(_ token: TimerToken) { base.cancelTimer(token) }

        func addTimer(after delay: Duration, _ action: @escaping @Sendable () -> Void) -> TimerToken {
            base.addTimer(after: delay, action)
        }

        func schedule(_ work: ChannelWork, on channel: LoopChannel) {
            if case .read = work { read() } else { base.schedule(work, on: channel) }
        }
    }
}
