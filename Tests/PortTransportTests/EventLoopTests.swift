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
    func exhaustionInEventLoop() async throws {
        let gate = Gate()
        let loop: EventLoop = try await withCheckedThrowingContinuation { continuation in
            do {
                var configuration = EventLoop.Configuration(maximumThreads: 3)
                let holder = Guarded<EventLoop?>(nil)
                let shared = Shared(holder: holder)
                configuration.onEvent = { event in
                    guard case .threadsExhausted(3) = event else { return }
                    shared.holder.withLock { holder in
                        // The hook may be called again, and the continuation may not.
                        guard let loop = holder else { return }
                        holder = nil
                        continuation.resume(returning: loop)
                    }
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
    func orderInEventLoop() async throws {
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
        // No piece of work is taken over, so that two of them never run at the same time.
        let loop = try EventLoop(configuration: EventLoop.Configuration(takeover: .seconds(3_600)))
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
        loop.stop()
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

    #if os(Linux)
        @Test(
            "After a fork the child's copy is dead: nothing hangs, and the parent's connection is left alone",
            .disabled(if: Sanitizer.isThread, "it ends a forked process that starts a thread"))
        func forking() async throws {
            // In a process of its own: a lock that a thread of another test holds during the fork stays locked in the child.
            await #expect(processExitsWith: .success) {
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
