import TestSupport
import Testing

@testable import PortTransport

@Suite("The lock of the transport", .bounded())
struct LockTests {
    /// What the lock alone protects: without it an increment is lost now and then, and a pair is seen half written.
    private final class Protected: @unchecked Sendable {
        // `lock` protects both.
        let lock = Lock()
        let changed = Condition()
        var pair = (0, 0)
        var turn = 0

        deinit {
            changed.destroy()
            lock.destroy()
        }
    }

    /// Runs `body` on so many threads at once, and returns when all have ended.
    private func onThreads(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) async {
        await withTaskGroup(of: Void.self) { group in
            for thread in 0..<count { group.addTask { await onPlainThread { body(thread) } } }
        }
    }

    @Test("Many threads at a time: one is inside, and none of their work is lost", arguments: [2, 8, 32])
    func exclusion(threads: Int) async {
        let protected = Protected()
        let rounds = 40_000 / threads
        let torn = Guarded(0)
        await onThreads(threads) { thread in
            for round in 0..<rounds {
                protected.lock.withLock {
                    if protected.pair.0 != protected.pair.1 { torn.withLock { $0 += 1 } }
                    protected.pair.0 += 1
                    // Held long enough now and then for the others to go to sleep.
                    if (round + thread) % 500 == 0 { _ = pattern(20_000) }
                    protected.pair.1 += 1
                }
            }
        }
        let count = protected.lock.withLock { protected.pair }
        #expect(count == (threads * rounds, threads * rounds) && torn.withLock { $0 } == 0)
    }

    @Test("Threads that wait for each other's turn under the lock miss none", arguments: [2, 5])
    func turns(threads: Int) async {
        let protected = Protected()
        let rounds = 2_000
        await onThreads(threads) { thread in
            for _ in 0..<rounds {
                protected.lock.withLock {
                    while protected.turn % threads != thread { _ = protected.changed.wait(protected.lock) }
                    protected.turn += 1
                    protected.changed.broadcast()
                }
            }
        }
        #expect(protected.lock.withLock { protected.turn } == threads * rounds)
    }

    @Test("A wait whose time is over ends, with the lock held")
    func timeout() async {
        let protected = Protected()
        let ends = await onPlainThread {
            protected.lock.withLock {
                // May be woken for nothing, but the time passes all the same.
                while protected.changed.wait(protected.lock, until: monotonicNow() + 1_000_000) {}
                protected.turn += 1
                return protected.turn
            }
        }
        #expect(ends == 1)
    }
}
