// The shims' headers bring `sigset_t`, which then counts as theirs.
import CPortShims
import Synchronization
import TestSupport
import Testing

@testable import PortTransport

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

@Suite("The event loop", .serialized, .bounded())
struct EventLoopTests {
    /// Something threads wait for.
    final class Gate: Sendable {
        private let lock = Lock()
        private let condition = Condition()
        private let open = Atomic<Bool>(false)

        func wait() {
            lock.withLock { while !open.load(ordering: .acquiring) { _ = condition.wait(lock) } }
        }

        func release() {
            lock.withLock {
                open.store(true, ordering: .releasing)
                condition.broadcast()
            }
        }
    }

    @Test("A handler that blocks does not stop other channels, nor its own")
    func takeover() async throws {
        let gate = Gate()
        let blocked = Atomic<Bool>(false)
        let there = Recorder(onDelivery: { _ in
            if blocked.exchange(true, ordering: .relaxed) == false { gate.wait() }
        })
        let (a, b, here, _) = try await channels(.socketpair, there: there)
        a.send([1])
        await there.wait(forItems: 1)
        // The loop's thread is in `deliveryEnded` by now or soon; everything below needs another one.
        let (c, d, here2, there2) = try await channels(.socketpair)
        c.send([2])
        await there2.wait(forItems: 1)
        a.send([3])
        await there.wait(forItems: 2)
        #expect(there.items.count == 2)
        gate.release()
        await end(a, b, here, there)
        await end(c, d, here2, there2)
    }

    @Test("What a job enqueued before it blocked is written by its successor")
    func successorFlushes() async throws {
        let gate = Gate()
        let (a, b, here, there) = try await channels(.socketpair)
        EventLoop.shared.perform {
            a.send([1])
            gate.wait()
        }
        await there.wait(forItems: 1)
        // The job is still blocked, and the channel has not ended.
        #expect(there.items.count == 1 && there.ends.isEmpty)
        gate.release()
        await end(a, b, here, there)
    }

    @Test("When no thread is left, the event hook says so, and work goes on when one comes back")
    func exhaustion() async throws {
        let gate = Gate()
        let loop: EventLoop = try await withCheckedThrowingContinuation { continuation in
            do {
                var configuration = EventLoop.Configuration(maximumThreads: 3)
                let holder = Guarded<EventLoop?>(nil)
                let shared = Shared(holder: holder)
                configuration.onEvent = { event in
                    guard case .threadsExhausted(3) = event else { return }
                    shared.holder.withLock { if let loop = $0 { continuation.resume(returning: loop) } }
                }
                let loop = try EventLoop(configuration: configuration)
                shared.holder.withLock { $0 = loop }
                for _ in 0..<3 { loop.perform { gate.wait() } }
            } catch {
                continuation.resume(throwing: error)
            }
        }
        #expect(loop.threadCount == 3)
        gate.release()
        await withCheckedContinuation { continuation in loop.perform { continuation.resume() } }
        loop.stop()
    }

    final class Shared: Sendable {
        let holder: Guarded<EventLoop?>
        init(holder: Guarded<EventLoop?>) { self.holder = holder }
    }

    @Test("Work runs in order and a piece at a time, as long as none is taken over")
    func order() async throws {
        // So long that it does not come to that on the busiest machine.
        let loop = try EventLoop(configuration: EventLoop.Configuration(takeover: .seconds(60)))
        let seen = Guarded<[Int]>([])
        let isInside = Flag(value: Atomic(false))
        let overlaps = Guarded(0)
        for index in 0..<1_000 {
            loop.perform {
                if isInside.value.exchange(true, ordering: .relaxed) { overlaps.withLock { $0 += 1 } }
                seen.withLock { $0.append(index) }
                isInside.value.store(false, ordering: .relaxed)
            }
        }
        await withCheckedContinuation { continuation in loop.perform { continuation.resume() } }
        #expect(seen.withLock { $0 } == Array(0..<1_000))
        #expect(overlaps.withLock { $0 } == 0)
        #expect(loop.threadCount == 1)
        loop.stop()
    }

    @Test("A piece that is taken over holds up nothing behind it, and each piece runs once")
    func overlap() async throws {
        let loop = EventLoop.shared
        let seen = Guarded<[Int: Int]>([:])
        let gate = Gate()
        let finished = Guarded(0)
        await withCheckedContinuation { continuation in
            for index in 0..<1_000 {
                loop.perform {
                    // Opened by the last one, which stands behind all that wait for it.
                    if index % 250 == 0 { gate.wait() }
                    if index == 999 { gate.release() }
                    seen.withLock { $0[index, default: 0] += 1 }
                    let count = finished.withLock { count in
                        count += 1
                        return count
                    }
                    if count == 1_000 { continuation.resume() }
                }
            }
        }
        #expect(seen.withLock { $0 } == Dictionary(uniqueKeysWithValues: (0..<1_000).map { ($0, 1) }))
    }

    @Test("Tasks that prefer the loop run on it, and it knows its own thread")
    func preference() async throws {
        #expect(!EventLoop.shared.isCurrent)
        #expect(await withTaskExecutorPreference(EventLoop.shared) { await Self.isOnLoop() })
    }

    @concurrent
    static func isOnLoop() async -> Bool { EventLoop.shared.isCurrent }

    @Test("Timers fire in the order of their times, among many that are cancelled")
    func timers() async throws {
        let seen = Guarded<[Int]>([])
        let loop = EventLoop.shared
        var tokens: [TimerToken] = []
        var isSoonEnough = false
        while !isSoonEnough {
            for token in tokens { loop.cancelTimer(token) }
            seen.withLock { $0 = [] }
            let start = monotonicNow()
            var cancelled: [TimerToken] = []
            for index in 0..<200 {
                cancelled.append(loop.addTimer(after: TestTimeout.test) { seen.withLock { $0.append(1_000 + index) } })
            }
            tokens = [
                loop.addTimer(after: .milliseconds(200)) { seen.withLock { $0.append(2) } },
                loop.addTimer(after: .milliseconds(100)) { seen.withLock { $0.append(1) } },
            ]
            for token in cancelled { loop.cancelTimer(token) }
            // Where the second was added so late that its time comes behind the first one's, the order says nothing.
            isSoonEnough = monotonicNow() - start < 100_000_000
        }
        await withCheckedContinuation { continuation in
            _ = loop.addTimer(after: .milliseconds(200)) { continuation.resume() }
        }
        #expect(seen.withLock { $0 } == [1, 2])
    }

    @Test("Jobs without end do not keep a descriptor from being read")
    func budget() async throws {
        let (a, b, here, there) = try await channels(.socketpair)
        let isOver = Atomic<Bool>(false)
        let flag = Flag(value: isOver)
        @Sendable func again() {
            if !flag.value.load(ordering: .relaxed) { EventLoop.shared.perform { again() } }
        }
        again()
        for index in 0..<100 {
            a.send([UInt8(index)])
            await there.wait(forItems: index + 1)
        }
        flag.value.store(true, ordering: .relaxed)
        #expect(there.items.count == 100)
        await end(a, b, here, there)
    }

    final class Flag: Sendable {
        let value: Atomic<Bool>
        init(value: consuming sending Atomic<Bool>) { self.value = value }
    }

    /// Runs `body` while the loop and blocking readers look for input that long before they sleep.
    private func spinning(_ time: Duration, _ body: () async throws -> Void) async throws {
        EventLoop.shared.setPolling(.always(time))
        defer {
            EventLoop.shared.setPolling(.adaptive)
            // Ends the poll that is under way.
            EventLoop.shared.perform {}
        }
        try await body()
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

            /// Waits until the thread has computed for a while from now.
            ///
            /// - Parameter looks: How often its clock is looked at; unless it is said, a thread that sleeps is waited for without
            ///   end.
            /// - Returns: Whether it has.
            @discardableResult
            func goesOn(looks: Int = .max) async throws -> Bool {
                let end = time + .milliseconds(5)
                for _ in 0..<looks {
                    if time >= end { return true }
                    try await Task.sleep(for: .milliseconds(1))
                }
                return false
            }
        }
    #endif

    @Test("A loop that polls before it sleeps does the same work")
    func spinning() async throws {
        try await spinning(.microseconds(200)) {
            let (a, b, here, there) = try await channels(.socketpair)
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
        try await spinning(.seconds(600)) {
            let (a, b, here, there) = try await channels(.socketpair)
            let (c, d, here2, there2) = try await channels(.socketpair)
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
            await withCheckedContinuation { done in EventLoop.shared.perform { done.resume() } }
            await withCheckedContinuation { done in
                _ = EventLoop.shared.addTimer(after: .milliseconds(1)) { done.resume() }
            }
            await end(a, b, here, there)
            d.send([2])
            await here2.wait(forItems: 1)
            #expect(here2.items.map(\.firstByte) == [2])
            #if os(Linux)
                // Another thread may lead by the time its clock is looked at.
                while true {
                    let clock = await withCheckedContinuation { known in
                        EventLoop.shared.perform { known.resume(returning: ThreadClock()) }
                    }
                    if try await clock.goesOn(looks: 100) { break }
                }
            #endif
            await end(c, d, here2, there2)
        }
    }

    @Test("A blocking reader that never sleeps finds the same as one that does", arguments: BlockingReaderTests.kinds)
    func sleeplessDriver(kind: ChannelTests.Kind) async throws {
        try await spinning(.seconds(600)) {
            try await BlockingReaderTests().row(kind: kind)
            try await BlockingReaderTests().ends(kind: kind)
        }
    }

    #if os(Linux)
        // What lies in this process's memory is announced.
        @Test(
            "A blocking reader computes while it looks for input",
            arguments: BlockingReaderTests.kinds.filter { ![.memory, .splittingMemory].contains($0) })
        func computingDriver(kind: ChannelTests.Kind) async throws {
            try await spinning(.seconds(600)) {
                let (a, b, here, there) = try await channels(kind)
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
    #endif

    #if os(Linux)
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

    #if os(Linux)
        @Test(
            "After a fork the child's copy is dead: nothing hangs, and the parent's connection is left alone",
            .disabled(if: Sanitizer.isThread, "it ends a forked process that starts a thread"))
        func forking() async throws {
            let (a, b, here, there) = try await channels(.socketpair)
            a.send([1])
            await there.wait(forItems: 1)
            let status = await onPlainThread { Self.fork(a, EventLoop.shared) }
            #expect(status == 0)
            a.send([2])
            await there.wait(forItems: 2)
            #expect(there.items.count == 2)
            await end(a, b, here, there)
        }

        /// What a forked child finds: 0, or the number of what was wrong; a signal if it hung.
        private static func fork(_ channel: Channel, _ loop: EventLoop) -> Int {
            guard let symbol = dlsym(nil, "fork") else { return -1 }
            let pid = unsafeBitCast(symbol, to: (@convention(c) () -> pid_t).self)()
            guard pid == 0 else {
                var status: CInt = -1
                waitpid(pid, &status, 0)
                return Int(status)
            }
            // The thread came with all signals blocked; a child that hangs has to end all the same.
            var none = sigset_t()
            sigemptyset(&none)
            pthread_sigmask(SIG_SETMASK, &none, nil)
            alarm(UInt32(TestTimeout.wait.components.seconds))
            if loop.isAlive { _exit(1) }
            if channel.send([9]) != 0 || channel.isWritten(1) { _exit(2) }
            do {
                _ = try channel.readWhileWaiting(until: { true }, deadline: nil)
                _exit(3)
            } catch {
                if error.code != .forked { _exit(4) }
            }
            channel.cancel(TransportError(.cancelled, "in the child"))
            // Work for the dead loop runs on the child's own.
            let ran = Gate()
            loop.perform { ran.release() }
            ran.wait()
            if EventLoop.shared === loop { _exit(5) }
            _exit(0)
        }
    #endif
}
