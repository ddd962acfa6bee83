import CPortShims
import TestSupport
import Testing

@testable import PortTransport

@Suite("What is to be written", .bounded())
struct OutboundQueueTests {
    static func appendLarge(_ queue: inout OutboundQueue, _ count: Int) -> UInt64 {
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
            _ = Self.appendLarge(&queue, 500)
            let plan = queue.plan(base, fragments: 4)
            let count = plan.bytes
            let isOwed = queue.credit(500)
            #expect(isOwed)
            _ = queue.advance(plan, written: count)
        }
        let (isEmpty, outstanding) = (queue.isEmpty, queue.outstanding)
        #expect(isEmpty)
        #expect(outstanding == 0)
        _ = Self.appendLarge(&queue, 5_000)
        let mayGo = queue.messageMayGo
        #expect(mayGo, "a message larger than the window goes when nothing is outstanding")
    }

    @Test("What a write under way holds may have reached the peer; what is behind it has not")
    func duringWrite() {
        var queue = OutboundQueue(window: 1 << 20)
        let empty = UnsafeRawBufferPointer(start: nil, count: 0)
        let small = queue.append(kind: 1, flags: 0, prefix: empty, body: nil, descriptors: [])
        let message = Self.appendLarge(&queue, 500)
        let large = Self.appendLarge(&queue, 1 << 20)
        let all = [small, message, large]
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
        let number = Self.appendLarge(&queue, 500)
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
        #expect(!isEmpty, "the peer has yet to be notified")
    }

    /// Plans and accounts for one write of which the kernel takes `limit` bytes; returns what it planned.
    private static func write(
        _ queue: inout OutboundQueue, pieceSize: Int?, limit: Int = .max
    ) -> (bytes: Int, piece: Int, copied: [UInt8]) {
        withUnsafeTemporaryAllocation(of: iovecType.self, capacity: OutboundQueue.maximumVectors) { vectors in
            guard let base = vectors.baseAddress else { return (0, 0, []) }
            let plan = queue.plan(base, fragments: 4, pieceSize: pieceSize)
            let (bytes, piece) = (plan.bytes, plan.piece?.payload ?? 0)
            var copied = [UInt8](repeating: 0, count: piece)
            copied.withUnsafeMutableBytes { plan.message?.copy(piece, to: $0) }
            _ = queue.advance(plan, written: min(bytes, limit))
            return (bytes, piece, copied)
        }
    }

    @Test("Frames pass a large message between any two of its pieces")
    func framesPassPieces() throws {
        var queue = OutboundQueue(window: 8 << 20)
        let bytes = pattern(1 << 20)
        let block = ByteBlock.make(count: bytes.count)
        block.bytes.copyBytes(from: bytes)
        let empty = UnsafeRawBufferPointer(start: nil, count: 0)
        _ = queue.append(
            kind: 2, flags: 0, prefix: empty,
            segments: [OutboundSegment(owner: block, bytes: UnsafeRawBufferPointer(block.bytes))], descriptors: [])
        var written: [UInt8] = []
        let (opened, piece, copied) = Self.write(&queue, pieceSize: 100_000)
        written += copied
        #expect(opened == 16 + 20 && piece == 100_000)
        // No piece is free: the message waits, and a frame does not.
        #expect(Self.write(&queue, pieceSize: 0).bytes == 0)
        _ = queue.append(kind: 1, flags: 0, prefix: empty, body: nil, descriptors: [])
        let hasFrames = queue.hasFrames
        #expect(hasFrames)
        #expect(Self.write(&queue, pieceSize: 0).bytes == 8)
        // With a frame there it goes first, and one write has one piece.
        _ = queue.append(kind: 1, flags: 0, prefix: empty, body: nil, descriptors: [])
        let (both, second, more) = Self.write(&queue, pieceSize: 100_000, limit: 10)
        written += more
        #expect(both == 8 + 20 && second == 100_000)
        // The header was cut: the rest of it follows, and its bytes are not copied once more.
        let (rest, third, nothing) = Self.write(&queue, pieceSize: 100_000)
        #expect(rest == 18 && third == 0 && nothing.isEmpty)
        while !queue.isEmpty {
            let wants = queue.large?.wantsPiece ?? false
            let (_, _, part) = Self.write(&queue, pieceSize: wants ? .max : nil)
            written += part
        }
        // The end may be too little for a piece.
        #expect(bytes.starts(with: written) && bytes.count - written.count < OutputSizes().smallestPiece)
        let unsent = queue.unsentOwnMessages
        #expect(unsent == 0)
    }

    @Test("A message whose piece is filled and not announced can be given up behind it")
    func abortPiece() throws {
        var queue = OutboundQueue(window: 8 << 20)
        let number = Self.appendLarge(&queue, 1 << 20)
        _ = Self.write(&queue, pieceSize: 1_000, limit: 16)
        queue.abort(number)
        let (rest, piece, _) = Self.write(&queue, pieceSize: 1_000)
        #expect(rest == 20 && piece == 0)
        // The abort.
        #expect(Self.write(&queue, pieceSize: nil).bytes == 16)
        let (isEmpty, isWritten, outstanding) = (queue.isEmpty, queue.isWritten(number), queue.outstanding)
        #expect(isEmpty && !isWritten && outstanding == 0)
    }
}
