import CPortShims
import TestSupport
import Testing

@testable import PortTransport

@Suite("What is to be written", .bounded())
struct OutboundQueueTests {
    static func appendBulk(_ queue: inout OutboundQueue, _ count: Int) -> UInt64 {
        let block = ByteBlock.make(count: count)
        let segment = OutboundSegment(owner: block, bytes: UnsafeRawBufferPointer(block.bytes))
        return queue.append(
            kind: 2, flags: 0, prefix: UnsafeRawBufferPointer(start: nil, count: 0), segments: [segment],
            descriptors: [])
    }

    @Test("A message the peer has consumed before its writer is back from the kernel leaves the window as it was")
    func creditDuringWrite() {
        var queue = OutboundQueue(window: 1_000)
        withUnsafeTemporaryAllocation(of: iovecType.self, capacity: OutboundQueue.maximumVectors) { vectors in
            guard let base = vectors.baseAddress else { return }
            _ = Self.appendBulk(&queue, 500)
            let plan = queue.plan(base, fragments: 4)
            let count = plan.bytes
            let isOwed = queue.credit(500)
            #expect(isOwed)
            _ = queue.advance(plan, written: count)
        }
        let (isEmpty, outstanding) = (queue.isEmpty, queue.outstanding)
        #expect(isEmpty)
        #expect(outstanding == 0)
        _ = Self.appendBulk(&queue, 5_000)
        let mayGo = queue.messageMayGo
        #expect(mayGo, "a message larger than the window goes when nothing is outstanding")
    }

    @Test("What a write under way holds may have reached the peer; what is behind it has not")
    func duringWrite() {
        var queue = OutboundQueue(window: 1 << 20)
        let empty = UnsafeRawBufferPointer(start: nil, count: 0)
        let small = queue.append(kind: 1, flags: 0, prefix: empty, body: nil, descriptors: [])
        let bulk = Self.appendBulk(&queue, 500)
        let large = Self.appendBulk(&queue, 1 << 20)
        let all = [small, bulk, large]
        func may(_ queue: borrowing OutboundQueue) -> [Bool] { all.map { queue.mayBeWritten($0) } }
        let before = may(queue)
        #expect(before == [false, false, false])
        withUnsafeTemporaryAllocation(of: iovecType.self, capacity: OutboundQueue.maximumVectors) { vectors in
            guard let base = vectors.baseAddress else { return }
            let plan = queue.plan(base, fragments: 4)
            let later = queue.append(kind: 1, flags: 0, prefix: empty, body: nil, descriptors: [])
            let during = may(queue)
            let laterMay = queue.mayBeWritten(later)
            #expect(during == [true, true, false] && !laterMay)
            _ = queue.advance(plan, written: 0)
        }
        let after = may(queue)
        #expect(after == [false, false, false])
    }

    @Test("A message given up before any of it was written takes nothing from the window")
    func abortBeforeWrite() {
        var queue = OutboundQueue(window: 1_000)
        let number = Self.appendBulk(&queue, 500)
        withUnsafeTemporaryAllocation(of: iovecType.self, capacity: OutboundQueue.maximumVectors) { vectors in
            guard let base = vectors.baseAddress else { return }
            let plan = queue.plan(base, fragments: 4)
            queue.abort(number)
            // The kernel took nothing.
            _ = queue.advance(plan, written: 0)
        }
        let (outstanding, first, isEmpty) = (queue.outstanding, queue.firstMessage, queue.isEmpty)
        #expect(outstanding == 0)
        #expect(first == nil)
        #expect(!isEmpty, "the peer has yet to be told")
    }
}
