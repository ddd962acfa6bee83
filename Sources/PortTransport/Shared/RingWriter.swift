internal import CPortShims
internal import Synchronization

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// The writing side of a ring of bytes in shared memory.
///
/// The writer counts the bytes that it has written, and accepts a count from the reader only if it is possible.
struct RingWriter: ~Copyable {
    private let counters: SharedCounters
    private let bytes: UnsafeMutableRawPointer
    private let capacity: Int
    private var position: UInt64 = 0
    /// The last known value of the reader's counter.
    private var taken: UInt64 = 0
    /// The processor whose number the reader was last given; nil if the reader does not want it.
    private var processor: UInt32?

    /// The reader may begin after so many bytes.
    private static let portion = 32 << 10

    init(_ counters: SharedCounters, _ bytes: UnsafeMutableRawPointer, capacity: Int, tellsProcessor: Bool) {
        self.counters = counters
        self.bytes = bytes
        self.capacity = capacity
        processor = tellsProcessor ? 0 : nil
    }

    /// Copies as many bytes as there is room for, at most as many as the ring holds, so that at most `bound` bytes wait
    /// to be read.
    ///
    /// - Parameters:
    ///   - vectors: The bytes to copy.
    ///   - count: The number of vectors.
    ///   - bound: The most bytes that may wait to be read afterwards.
    ///   - content: Decides which reader is notified.
    ///   - beforeRequest: Called before the reader is asked to report room.
    ///   - wake: Called when the reader wants to be notified.
    /// - Returns: The number of bytes; minus EAGAIN if there is no room, in which case the reader reports room later;
    ///   minus EPROTO if the reader's counter is invalid.
    mutating func write(
        _ vectors: UnsafePointer<iovec>, _ count: Int, bound: Int, content: RingContent, beforeRequest: () -> Void,
        wake: (RingReceiver) -> Void
    ) -> Int {
        var total = 0
        var unpublished = 0
        for index in 0..<count {
            guard var source = UnsafeRawPointer(vectors[index].iov_base) else { continue }
            // At most one ring of bytes in one call, however fast the reader is.
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
        // Either the reader finds these bytes when it checks again, or its request is found here.
        atomicMemoryFence(ordering: .sequentiallyConsistent)
        if content.contains(.answers) {
            let thread = counters.answerWaits.pointee.load(ordering: .relaxed)
            if thread == AnswerThread.sleeps {
                // `none` and not `looks`: only the thread itself sets `looks`, because it may just have left.
                counters.answerWaits.pointee.store(AnswerThread.none, ordering: .relaxed)
                wake(.answerThread)
            }
            // That thread reads these bytes.
            if content == .answers, thread != AnswerThread.none { return }
        }
        if SharedCounters.takeRequest(counters.readerWaits) { wake(.doorbell) }
    }

    /// Reads the reader's count; false if the count is impossible.
    private mutating func update() -> Bool {
        let now = counters.taken.pointee.load(ordering: .acquiring)
        guard now &- taken <= position &- taken else { return false }
        taken = now
        return true
    }
}
