import TestSupport
import Testing

@testable import PortTransport

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

@Suite("Polling of the loop and of blocking readers", .serialized, .bounded())
struct LoopPollingTests {
    /// Runs `body` with a loop of its own, which looks for input that long before it sleeps, as its blocking readers do.
    ///
    /// Not with the shared loop: other tests wait for threads of that one to sleep.
    private func spinning(_ time: Duration, _ body: (EventLoop) async throws -> Void) async throws {
        let loop = try EventLoop(configuration: EventLoop.Configuration(polling: .always(time)))
        defer { loop.stop() }
        try await body(loop)
    }

    #if os(Linux)
        /// How long a thread has computed: one that sleeps does not.
        struct ThreadClock: Sendable {
            private let clock: clockid_t

            /// That of the calling thread.
            init() {
                var clock = clockid_t()
                precondition(pthread_getcpuclockid(pthread_self(), &clock) == 0)
                self.clock = clock
            }

            private var time: Duration {
                var time = timespec()
                clock_gettime(clock, &time)
                return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
            }

            /// Waits until the thread has computed between twenty looks at its clock, however little: on a busy machine one that
            /// yields gets microseconds at a time.
            ///
            /// - Parameter looks: How often its clock is looked at; unless it is said, a thread that sleeps is waited for without
            ///   end.
            /// - Returns: Whether it has.
            @discardableResult
            func goesOn(looks: Int = .max) async throws -> Bool {
                var (last, advances) = (time, 0)
                for _ in 0..<looks {
                    try await Task.sleep(for: .milliseconds(1))
                    let now = time
                    if now > last { (last, advances) = (now, advances + 1) }
                    if advances == 20 { return true }
                }
                return false
            }
        }
    #endif

    @Test("A loop that polls before it sleeps does the same work")
    func spinning() async throws {
        try await spinning(.microseconds(200)) { loop in
            let (a, b, here, there) = try await channels(.socketpair, on: loop)
            for index in 0..<100 {
                a.send([UInt8(index)])
                await there.wait(forItems: index + 1)
            }
            #expect(there.items.map(\.firstByte) == (0..<100).map { UInt8($0) })
            await end(a, b, here, there)
        }
    }

    @Test("A loop that never sleeps finds other channels' input, work, timers, and the end of the channel read last")
    func sleepless() async throws {
        try await spinning(.seconds(600)) { loop in
            let (a, b, here, there) = try await channels(.socketpair, on: loop)
            let (c, d, here2, there2) = try await channels(.socketpair, on: loop)
            for index in 0..<100 {
                a.send([UInt8(index)])
                await there.wait(forItems: index + 1)
            }
            c.send([1])
            await there2.wait(forItems: 1)
            a.send([100])
            await there.wait(forItems: 101)
            #expect(there.items.map(\.firstByte) == (0...100).map { UInt8($0) })
            #expect(there2.items.map(\.firstByte) == [1])
            await withCheckedContinuation { done in loop.perform { done.resume() } }
            await withCheckedContinuation { done in
                _ = loop.addTimer(after: .milliseconds(1)) { done.resume() }
            }
            await end(a, b, here, there)
            d.send([2])
            await here2.wait(forItems: 1)
            #expect(here2.items.map(\.firstByte) == [2])
            #if os(Linux)
                // Another thread may lead by the time its clock is looked at.
                while true {
                    let clock = await withCheckedContinuation { known in
                        loop.perform { known.resume(returning: ThreadClock()) }
                    }
                    if try await clock.goesOn(looks: 100) { break }
                }
            #endif
            await end(c, d, here2, there2)
        }
    }

    #if os(Linux)
        @Test("A loop sleeps although the peer has changed the loop's own count of what it has read")
        func foreignCountInLoopPolling() async throws {
            try await spinning(.milliseconds(1)) { loop in
                let (a, b, here, there) = try await channels(.sharedMemory, on: loop)
                for index in 0..<100 {
                    a.send([UInt8(index)])
                    await there.wait(forItems: index + 1)
                }
                let memory = try #require(b.sharedMemory).memory
                for ring in [0, SharedCounters.size] {
                    memory.storeBytes(of: 1 << 20, toByteOffset: ring + 64, as: UInt64.self)
                }
                while true {
                    let clock = await withCheckedContinuation { known in
                        loop.perform { known.resume(returning: ThreadClock()) }
                    }
                    // One that sleeps does not compute, however often it is looked at.
                    if try await !clock.goesOn(looks: 100) { break }
                }
                await end(a, b, here, there)
            }
        }
    #endif

    @Test("A loop leaves out as many polls for a channel as it was told to")
    func skipped() async throws {
        let (a, b, here, there) = try await channels(.memory)
        #expect(!a.skipsPoll())
        a.skipPolls(2)
        #expect(a.skipsPoll())
        #expect(a.skipsPoll())
        #expect(!a.skipsPoll())
        #expect(!b.skipsPoll())
        await end(a, b, here, there)
    }

    @Test("A blocking reader that never sleeps finds the same as one that does", arguments: BlockingReaderTests.kinds)
    func sleeplessDriver(kind: ChannelTests.Kind) async throws {
        try await spinning(.seconds(600)) { loop in
            try await BlockingReaderTests().row(kind: kind, on: loop)
            try await BlockingReaderTests().ends(kind: kind, on: loop)
        }
    }

    #if os(Linux)
        // What lies in this process's memory is announced.
        @Test(
            "A blocking reader computes while it looks for input",
            arguments: BlockingReaderTests.kinds.filter { ![.memory, .splittingMemory].contains($0) })
        func computingDriver(kind: ChannelTests.Kind) async throws {
            try await spinning(.seconds(600)) { loop in
                let (a, b, here, there) = try await channels(kind, on: loop)
                let clock = Guarded<ThreadClock?>(nil)
                async let result = onPlainThread {
                    clock.withLock { $0 = ThreadClock() }
                    return try? a.readWhileWaiting(until: { !here.items.isEmpty }, deadline: nil)
                }
                while clock.withLock({ $0 == nil }) { await Task.yield() }
                try await clock.withLock { $0 }?.goesOn()
                b.send([1])
                guard case .done? = await result else { return #expect(Bool(false), "it did not read") }
                #expect(here.items.map(\.firstByte) == [1])
                await end(a, b, here, there)
            }
        }

        @Test(
            "A thread that waits briefly for its answers gets each once, also on its peer's processor")
        func briefWaits() async throws {
            let (a, b, here, there) = try await channels(.sharedMemory)
            let rounds = 3_000
            // Both threads share a processor in every other hundred rounds.
            async let echo: Void = onPlainThread {
                for round in 1...rounds {
                    if round % 200 == 1 { Self.useProcessor(0) }
                    if round % 200 == 101 { Self.useProcessor(1) }
                    _ = try? b.readWhileWaiting(until: { there.items.count >= round }, deadline: nil)
                    b.send([UInt8(round % 256)])
                }
            }
            await onPlainThread {
                Self.useProcessor(0)
                for round in 1...rounds {
                    _ = a.enqueue(kind: 2, flags: 0, prefix: UnsafeRawBufferPointer(start: nil, count: 0))
                    if !a.flushAndWaitBriefly(until: { here.items.count >= round }) { a.setNeedsFlush() }
                    _ = try? a.readWhileWaiting(until: { here.items.count >= round }, deadline: nil)
                }
            }
            await echo
            #expect(here.items.map(\.firstByte) == (1...rounds).map { UInt8($0 % 256) })
            await end(a, b, here, there)
            // The memory is unmapped now.
            await onPlainThread {
                #expect(!a.flushAndWaitBriefly(until: { false }))
                #expect(!b.flushAndWaitBriefly(until: { false }))
            }
        }

        /// Keeps the calling thread on the processor with that index among those that it may use, if there are so many.
        private static func useProcessor(_ index: Int) {
            // Swift does not import these functions.
            typealias Mask = @convention(c) (pid_t, Int, UnsafeMutableRawPointer?) -> CInt
            guard let getter = dlsym(nil, "sched_getaffinity"), let setter = dlsym(nil, "sched_setaffinity") else {
                return
            }
            var mask = [UInt8](repeating: 0, count: 128)
            guard unsafeBitCast(getter, to: Mask.self)(getpid(), mask.count, &mask) >= 0 else { return }
            let bits = (0..<mask.count * 8).filter { mask[$0 / 8] & (1 << ($0 % 8)) != 0 }
            guard index < bits.count else { return }
            mask = mask.map { _ in 0 }
            mask[bits[index] / 8] = 1 << (bits[index] % 8)
            _ = unsafeBitCast(setter, to: Mask.self)(0, mask.count, &mask)
        }
    #endif
}
