internal import CPortShims
internal import Synchronization

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// The counters of one direction of bytes in memory that two processes share, as `Frames.md` lays them out.
///
/// Two lines of a processor's cache: the writer changes the first, except that the reader takes back the writer's
/// request; the reader changes the second in the same way.
struct SharedCounters {
    /// Bytes written ever.
    let written: UnsafeMutablePointer<Atomic<UInt64>>
    /// Not 0: the writer wants to be notified of room.
    let writerWaits: UnsafeMutablePointer<Atomic<UInt32>>
    /// 1 + the processor on which the writer ran when it wrote last; 0: it does not say.
    let writerProcessor: UnsafeMutablePointer<Atomic<UInt32>>
    /// Bytes read ever.
    let taken: UnsafeMutablePointer<Atomic<UInt64>>
    /// Not 0: the reader wants to be notified of bytes.
    let readerWaits: UnsafeMutablePointer<Atomic<UInt32>>
    /// Whether a thread of the reader's looks for answers, as `AnswerThread` numbers it.
    let answerWaits: UnsafeMutablePointer<Atomic<UInt32>>

    static let size = 128

    init(at address: UnsafeMutableRawPointer) {
        written = address.assumingMemoryBound(to: Atomic<UInt64>.self)
        writerWaits = (address + 8).assumingMemoryBound(to: Atomic<UInt32>.self)
        writerProcessor = (address + 12).assumingMemoryBound(to: Atomic<UInt32>.self)
        taken = (address + 64).assumingMemoryBound(to: Atomic<UInt64>.self)
        readerWaits = (address + 72).assumingMemoryBound(to: Atomic<UInt32>.self)
        answerWaits = (address + 76).assumingMemoryBound(to: Atomic<UInt32>.self)
    }

    /// Takes a request back; true if there was one, and so the doorbell has to be rung.
    @inline(__always)
    static func takeRequest(_ request: UnsafeMutablePointer<Atomic<UInt32>>) -> Bool {
        // No exchange: only this side takes it back, and the other looks once more after its request.
        guard request.pointee.load(ordering: .relaxed) != 0 else { return false }
        request.pointee.store(0, ordering: .relaxed)
        return true
    }
}

/// What the blocking reader does, which looks for answers in place of the loop.
enum AnswerThread {
    static let none: UInt32 = 0
    /// It sleeps until the word is something else.
    static let sleeps: UInt32 = 1
    /// It will look before it sleeps or leaves.
    static let looks: UInt32 = 2
}

/// What a writer writes, as far as it decides which reader is notified.
struct RingContent: OptionSet {
    let rawValue: UInt8

    /// What a thread may wait for.
    static let answers = RingContent(rawValue: 1)
    static let others = RingContent(rawValue: 2)
}

/// The thread that a ring's writer has to wake.
enum RingReceiver {
    /// The thread that waits for an answer.
    case answerThread
    /// The thread that polls the doorbell.
    case doorbell
}

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
    /// What the reader is told of the processor; nil: nothing.
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
        if let told = processor {
            let now = UInt32(truncatingIfNeeded: port_processor() + 1)
            if now != told {
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
        let told = counters.writerProcessor.pointee.load(ordering: .relaxed)
        return told != 0 && told == UInt32(truncatingIfNeeded: port_processor() + 1)
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
