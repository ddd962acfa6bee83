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
    private var position: UInt64 = 0
    /// Where the writer has finished.
    private var end: UInt64?
    /// Whether the last read left nothing, and the writer will notify of what comes.
    private(set) var isDrained = false

    init(_ counters: SharedCounters, _ bytes: UnsafeRawPointer, capacity: Int) {
        self.counters = counters
        self.bytes = bytes
        self.capacity = capacity
    }

    /// Copies what there is, as far as `vectors` have room.
    ///
    /// - Parameters:
    ///   - requestsDoorbell: If nothing is left, the writer is asked to notify of what comes; otherwise the caller looks
    ///     again by itself.
    ///   - ring: Called when the writer wants to be notified of room.
    /// - Returns: The bytes; minus EAGAIN if there are none; minus EPROTO if the writer's counter cannot be right.
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
        counters.taken.pointee.store(position, ordering: .releasing)
        let isEmpty = left == 0
        if isEmpty, requestsDoorbell { request() }
        // Either the writer's second look finds the room, or its request is found here; and the same for what it
        // writes.
        atomicMemoryFence(ordering: .sequentiallyConsistent)
        let waiting = written &- position
        isDrained = isEmpty && requestsDoorbell && waiting == 0
        // Not for every few bytes: half a ring is worth a wake.
        if waiting <= UInt64(capacity / 2), SharedCounters.takeRequest(counters.writerWaits) { ring() }
        return Int(truncatingIfNeeded: available) - left
    }

    /// What a look without a lock needs: the writer's counter, and what it was when all was read.
    ///
    /// The peer can change both. That makes a thread read in vain, or sleep, as its reads tell it to.
    struct Peek {
        fileprivate let written: UnsafeMutablePointer<Atomic<UInt64>>
        fileprivate let taken: UInt64

        @inline(__always)
        var hasChanged: Bool { written.pointee.load(ordering: .relaxed) != taken }
    }

    /// For any thread, while the memory is mapped.
    var peek: Peek {
        Peek(written: counters.written, taken: counters.taken.pointee.load(ordering: .relaxed))
    }

    /// Whether the writer says that it ran last where the calling thread runs.
    ///
    /// It may say anything: then the thread sleeps, or polls, where the other would have been better.
    var writerIsHere: Bool {
        let processor = counters.writerProcessor.pointee.load(ordering: .relaxed)
        return processor != 0 && processor == UInt32(truncatingIfNeeded: port_processor() + 1)
    }

    /// A thread looks for answers from now on.
    func beginAwaiting() { counters.answerWaits.pointee.store(AnswerThread.looks, ordering: .relaxed) }

    /// Whether there are bytes, or the writer cannot be trusted; if not, a change of `answerWaits` notifies
    /// that thread of answers.
    func hasInputOrAwaitsAnswer() -> Bool {
        counters.answerWaits.pointee.store(AnswerThread.sleeps, ordering: .relaxed)
        atomicMemoryFence(ordering: .sequentiallyConsistent)
        return written != position
    }

    /// The thread waits no longer; whether there is something of which no thread was notified.
    func hasInputAfterAwaiting() -> Bool {
        counters.answerWaits.pointee.store(AnswerThread.none, ordering: .relaxed)
        atomicMemoryFence(ordering: .sequentiallyConsistent)
        return written != position
    }

    /// What the writer writes from now on is not read.
    mutating func finish() { end = written }

    private var written: UInt64 { end ?? counters.written.pointee.load(ordering: .acquiring) }

    private func request() { counters.readerWaits.pointee.store(1, ordering: .relaxed) }
}
