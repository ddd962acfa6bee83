internal import CPortShims
internal import Synchronization

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// The writing side of a ring of bytes in shared memory.
///
/// What it has written it counts itself; of the peer's counter it believes only what can be true.
struct RingWriter: ~Copyable {
    private let counters: SharedCounters
    private let bytes: UnsafeMutableRawPointer
    private let capacity: Int
    private var position: UInt64 = 0
    /// The reader's counter as it was last seen.
    private var taken: UInt64 = 0
    /// The processor that the reader was notified of; nil: it asks for none.
    private var processor: UInt32?

    /// Bytes after which the reader may begin.
    private static let portion = 32 << 10

    init(_ counters: SharedCounters, _ bytes: UnsafeMutableRawPointer, capacity: Int, tellsProcessor: Bool) {
        self.counters = counters
        self.bytes = bytes
        self.capacity = capacity
        processor = tellsProcessor ? 0 : nil
    }

    /// Copies what there is room for, and no more than the ring holds, so that at most `bound` bytes wait to be read.
    ///
    /// - Parameters:
    ///   - content: Decides which reader is notified.
    ///   - beforeRequest: Called before the reader is asked to report room.
    ///   - wake: Called when the reader wants to be notified.
    /// - Returns: The bytes; minus EAGAIN if there is no room, which the reader reports then; minus EPROTO if the
    ///   reader's counter cannot be right.
    mutating func write(
        _ vectors: UnsafePointer<iovec>, _ count: Int, bound: Int, content: RingContent, beforeRequest: () -> Void,
        wake: (RingReceiver) -> Void
    ) -> Int {
        var total = 0
        var unpublished = 0
        for index in 0..<count {
            guard var source = UnsafeRawPointer(vectors[index].iov_base) else { continue }
            // No more than a ring in one call, however fast its reader is.
            var left = min(vectors[index].iov_len, capacity - total)
            while left > 0 {
                var room = bound - Int(truncatingIfNeeded: position &- taken)
                if room <= 0 || room < left {
                    guard update() else { return -Int(EPROTO) }
                    room = bound - Int(truncatingIfNeeded: position &- taken)
                }
                if room <= 0 {
                    if unpublished > 0 { publish(content, wake) }
                    unpublished = 0
                    beforeRequest()
                    counters.writerWaits.pointee.store(1, ordering: .releasing)
                    atomicMemoryFence(ordering: .sequentiallyConsistent)
                    guard update() else { return -Int(EPROTO) }
                    let isFull = Int(truncatingIfNeeded: position &- taken) >= bound
                    if isFull { return total > 0 ? total : -Int(EAGAIN) }
                    continue
                }
                let offset = Int(truncatingIfNeeded: position) & (capacity - 1)
                let part = min(left, room, capacity - offset, Self.portion - unpublished)
                (bytes + offset).copyMemory(from: source, byteCount: part)
                position &+= UInt64(part)
                source += part
                left -= part
                total += part
                unpublished += part
                if unpublished == Self.portion {
                    publish(content, wake)
                    unpublished = 0
                }
            }
        }
        if unpublished > 0 { publish(content, wake) }
        return total
    }

    @inline(__always)
    private mutating func publish(_ content: RingContent, _ wake: (RingReceiver) -> Void) {
        if let last = processor {
            let now = UInt32(truncatingIfNeeded: port_processor() + 1)
            if now != last {
                processor = now
                counters.writerProcessor.pointee.store(now, ordering: .relaxed)
            }
        }
        counters.written.pointee.store(position, ordering: .releasing)
        // Either the reader's second look finds these bytes, or its request is found here.
        atomicMemoryFence(ordering: .sequentiallyConsistent)
        if content.contains(.answers) {
            let thread = counters.answerWaits.pointee.load(ordering: .relaxed)
            if thread == AnswerThread.sleeps {
                // The thread says itself that it looks: it may just have left.
                counters.answerWaits.pointee.store(AnswerThread.none, ordering: .relaxed)
                wake(.answerThread)
            }
            // It reads what there is.
            if content == .answers, thread != AnswerThread.none { return }
        }
        if SharedCounters.takeRequest(counters.readerWaits) { wake(.doorbell) }
    }

    /// Looks how far the reader is; false if it cannot be there.
    private mutating func update() -> Bool {
        let now = counters.taken.pointee.load(ordering: .acquiring)
        guard now &- taken <= position &- taken else { return false }
        taken = now
        return true
    }
}
