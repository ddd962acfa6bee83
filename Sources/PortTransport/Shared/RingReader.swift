internal import CPortShims
internal import Synchronization

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// The reading side of a ring of bytes in shared memory.
struct RingReader: ~Copyable {
    private let counters: SharedCounters
    private let bytes: UnsafeRawPointer
    private let capacity: Int
    /// The number of bytes read so far.
    ///
    /// The one in the shared memory is only for the writer, which can change it.
    private var position: UInt64 = 0 {
        didSet { visible.pointee.position.store(position, ordering: .relaxed) }
    }
    private let visible: UnsafeMutablePointer<Visible>
    /// The position at which the writer has finished.
    private var end: UInt64?
    /// Whether the last read emptied the ring, and the writer will notify this side of new bytes.
    private(set) var isDrained = false

    init(_ counters: SharedCounters, _ bytes: UnsafeRawPointer, capacity: Int) {
        self.counters = counters
        self.bytes = bytes
        self.capacity = capacity
        visible = .allocate(capacity: 1)
        visible.initialize(to: Visible())
    }

    deinit {
        visible.deinitialize(count: 1)
        visible.deallocate()
    }

    /// What threads see that poll without a lock.
    fileprivate struct Visible: ~Copyable {
        let position = Atomic<UInt64>(0)
        let isFinished = Atomic<Bool>(false)
    }

    /// Copies the bytes that there are, up to the room in `vectors`.
    ///
    /// - Parameters:
    ///   - vectors: The memory to copy to.
    ///   - count: The number of vectors.
    ///   - requestsDoorbell: Whether to ask the writer to notify this side of new bytes, if the ring is empty
    ///     afterwards. If not, the caller checks again by itself.
    ///   - ring: Called when the writer wants to be notified of room.
    /// - Returns: The number of bytes; minus EAGAIN if there are none; minus EPROTO if the writer's counter is invalid.
    mutating func read(_ vectors: UnsafePointer<iovec>, _ count: Int, requestsDoorbell: Bool, ring: () -> Void) -> Int {
        var available = written &- position
        guard available <= UInt64(capacity) else { return -Int(EPROTO) }
        isDrained = false
        if available == 0 {
            guard requestsDoorbell else { return -Int(EAGAIN) }
            request()
            atomicMemoryFence(ordering: .sequentiallyConsistent)
            available = written &- position
            guard available <= UInt64(capacity) else { return -Int(EPROTO) }
            guard available > 0 else {
                isDrained = true
                return -Int(EAGAIN)
            }
        }
        var left = Int(truncatingIfNeeded: available)
        var position = position
        for index in 0..<count where left > 0 {
            guard var target = vectors[index].iov_base else { continue }
            var room = min(left, vectors[index].iov_len)
            while room > 0 {
                let offset = Int(truncatingIfNeeded: position) & (capacity - 1)
                let part = min(room, capacity - offset)
                target.copyMemory(from: bytes + offset, byteCount: part)
                position &+= UInt64(part)
                target += part
                room -= part
                left -= part
            }
        }
        self.position = position
        counters.taken.pointee.store(position, ordering: .releasing)
        let isEmpty = left == 0
        if isEmpty, requestsDoorbell { request() }
        // Either the writer finds the room when it checks again, or its request is found here. The same holds for new
        // bytes and this side's request.
        atomicMemoryFence(ordering: .sequentiallyConsistent)
        let waiting = written &- position
        isDrained = isEmpty && requestsDoorbell && waiting == 0
        // The writer is not woken for every few bytes, but when half of the ring is free.
        if waiting <= UInt64(capacity / 2), SharedCounters.takeRequest(counters.writerWaits) { ring() }
        return Int(truncatingIfNeeded: available) - left
    }

    /// What a thread needs to look for input without a lock: the writer's counter, and what this side has read.
    ///
    /// The peer can change only the first. While it differs from the second, a read finds bytes or an error.
    struct Peek {
        fileprivate let written: UnsafeMutablePointer<Atomic<UInt64>>
        fileprivate let visible: UnsafeMutablePointer<Visible>

        /// Whether there is something new; false once the writer has finished, because its counter then says nothing.
        @inline(__always)
        var hasChanged: Bool {
            written.pointee.load(ordering: .relaxed) != visible.pointee.position.load(ordering: .relaxed)
                && !visible.pointee.isFinished.load(ordering: .relaxed)
        }
    }

    /// For any thread that keeps the reader and the memory alive.
    var peek: Peek { Peek(written: counters.written, visible: visible) }

    /// Whether the writer says that it ran last on the processor of the calling thread.
    ///
    /// A wrong statement only makes the thread sleep or poll when the other would have been better.
    var writerIsHere: Bool {
        let processor = counters.writerProcessor.pointee.load(ordering: .relaxed)
        return processor != 0 && processor == UInt32(truncatingIfNeeded: port_processor() + 1)
    }

    /// A thread checks for answers from now on.
    func beginAwaiting() { counters.answerWaits.pointee.store(AnswerThread.looks, ordering: .relaxed) }

    /// Whether there are bytes, or the writer's counter is invalid.
    ///
    /// If not, the writer changes `answerWaits` when it has written answers, and so notifies the thread.
    func hasInputOrAwaitsAnswer() -> Bool {
        counters.answerWaits.pointee.store(AnswerThread.sleeps, ordering: .relaxed)
        atomicMemoryFence(ordering: .sequentiallyConsistent)
        return written != position
    }

    /// Ends the thread's wait.
    ///
    /// Returns whether there are bytes of which no thread was notified.
    func hasInputAfterAwaiting() -> Bool {
        counters.answerWaits.pointee.store(AnswerThread.none, ordering: .relaxed)
        atomicMemoryFence(ordering: .sequentiallyConsistent)
        return written != position
    }

    /// Ignores everything that the writer writes from now on.
    mutating func finish() {
        end = written
        visible.pointee.isFinished.store(true, ordering: .relaxed)
    }

    private var written: UInt64 { end ?? counters.written.pointee.load(ordering: .acquiring) }

    private func request() { counters.readerWaits.pointee.store(1, ordering: .relaxed) }
}
