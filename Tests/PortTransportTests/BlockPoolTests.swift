import TestSupport
import Testing

@testable import PortTransport

@Suite("The memory of large messages", .bounded())
struct BlockPoolTests {
    @Test("Memory that was given back serves the next message of about that size")
    func usedAgainInBlockPool() throws {
        let pool = BlockPool(isTimed: false)
        let first = try #require(pool.take(1 << 20))
        #expect(first.size >= 1 << 20)
        pool.giveBack(first)
        #expect(pool.freeBytes == first.size)
        // A small message does not take the memory of a large one, nor the other way round.
        let small = try #require(pool.take(BlockPool.smallest))
        let large = try #require(pool.take(4 << 20))
        #expect(small.start != first.start && large.start != first.start)
        let again = try #require(pool.take((1 << 20) - 5))
        #expect(again.start == first.start)
        #expect(pool.freeBytes == 0)
        for memory in [small, large, again] { pool.giveBack(memory) }
        #expect(pool.freeBytes == small.size + large.size + again.size)
    }

    @Test("No more than the bound is kept, and the longest unused goes first")
    func bound() throws {
        let pool = BlockPool(isTimed: false)
        let blocks = try (0..<5).map { _ in try #require(pool.take(16 << 20)) }
        for memory in blocks { pool.giveBack(memory) }
        #expect(pool.freeBytes == 64 << 20)
        let last = try #require(pool.take(16 << 20))
        #expect(last.start != blocks[0].start)
        pool.giveBack(last)
        let huge = try #require(pool.take(100 << 20))
        pool.giveBack(huge)
        #expect(pool.freeBytes == 64 << 20)
        #expect(pool.take(.max) == nil)
    }

    @Test("What is not used between two ticks goes back to the system")
    func ticks() throws {
        let pool = BlockPool(isTimed: false)
        let (unused, used) = (try #require(pool.take(1 << 20)), try #require(pool.take(1 << 20)))
        pool.giveBack(unused)
        pool.giveBack(used)
        pool.tick()
        #expect(pool.freeBytes == unused.size + used.size)
        let taken = try #require(pool.take(1 << 20))
        pool.giveBack(taken)
        pool.tick()
        #expect(pool.freeBytes == taken.size)
        pool.tick()
        #expect(pool.freeBytes == 0)
    }

    @Test("The memory of a message is kept for the next one when the message is let go")
    func blocksInBlockPool() async throws {
        await #expect(processExitsWith: .success) {
            var isInTime = false
            // On a busy machine the second may pass after which unused memory goes back to the system.
            while !isInTime {
                var block = MessageBlock.make(count: 3 << 20)
                let start = block?.bytes.baseAddress
                #expect(block?.bytes.count == 3 << 20)
                let time = ContinuousClock.now
                block = nil
                let free = BlockPool.shared.freeBytes
                block = MessageBlock.make(count: (3 << 20) + 7)
                isInTime = ContinuousClock.now - time < .seconds(1)
                if isInTime { #expect(free >= 3 << 20 && block?.bytes.baseAddress == start) }
            }
            while BlockPool.shared.freeBytes > 0 { try await Task.sleep(for: .milliseconds(10)) }
        }
    }
}
