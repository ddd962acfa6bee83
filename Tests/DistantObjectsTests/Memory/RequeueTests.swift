import DistantObjects
import Synchronization
import TestSupport
import Testing

#if canImport(Glibc)
    import Glibc

    /// A peer moves threads that wait on a futex in the shared memory to another futex that nothing wakes.
    @Suite("Blocking calls whose futex the peer requeues", .bounded())
    struct RequeueTests {
        /// A thread that requeues waiting threads until it is stopped.
        final class Requeuer: @unchecked Sendable {  // What changes is atomic.
            private let word: Int
            private let other: Int
            private let stolen = Atomic<Int>(0)
            private let isOver = Atomic<Bool>(false)

            init(from word: UnsafeMutableRawPointer, to other: UnsafeMutableRawPointer) {
                (self.word, self.other) = (Int(bitPattern: word), Int(bitPattern: other))
            }

            /// The number of threads moved so far.
            var count: Int { stolen.load(ordering: .relaxed) }

            func run() {
                typealias Call = @convention(c) (Int, Int, Int, Int, Int, Int, Int) -> Int
                let call = unsafeBitCast(dlsym(nil, "syscall"), to: Call.self)
                // FUTEX_CMP_REQUEUE wakes none and moves all, if the word says that a thread waits.
                while !isOver.load(ordering: .relaxed) {
                    let moved = call(Self.futex, word, 4, 0, Int(Int32.max), other, 1)
                    if moved > 0 { stolen.wrappingAdd(moved, ordering: .relaxed) }
                    // A thread waits for 50 ms, so this need not run all the time; other tests need the processor.
                    usleep(500)
                }
            }

            func stop() { isOver.store(true, ordering: .relaxed) }

            #if arch(x86_64)
                static let futex = 202
            #elseif arch(arm64)
                static let futex = 98
            #else
                static let futex = 240
            #endif
        }

        @Test("They still end at their deadline and with their connection")
        func requeued() async throws {
            let taker = try await SharingAbuseTests.Taker()
            taker.raw.send(17, flags: 2, [])
            try await taker.awaitMove()
            let directory = try await SharingAbuseTests.root(of: taker)
            let thief = Requeuer(from: taker.memory + 76, to: taker.memory + 1_024)
            let thieving = Task { try await onThread { thief.run() } }
            await expectCode(.deadlineExceeded) {
                _ = try await onThread {
                    try directory.message("echo").blocking(1, timeout: .milliseconds(100)) as Int
                }
            }
            let before = thief.count
            let call = CountedCall { try await onThread { let _: Int = try directory.message("echo").blocking(1) } }
            await eventually("the sleep is taken away") { thief.count > before || call.ends.count > 0 }
            #expect(thief.count > before, "\(taker.connection.statistics)")
            taker.raw.close()
            await call.expect(.outcomeUnknown)
            _ = await taker.connection.ended
            #expect(taker.connection.statistics.isAtRest)
            thief.stop()
            try await thieving.value
            taker.close()
        }
    }
#endif
