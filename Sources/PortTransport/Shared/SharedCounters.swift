internal import CPortShims
internal import Synchronization

/// The counters of one direction of bytes in memory that two processes share, as `Frames.md` lays them out.
///
/// They fill two cache lines. The writer changes the first, except that the reader clears the writer's request there.
/// The reader changes the second in the same way.
struct SharedCounters {
    /// The number of bytes written so far.
    let written: UnsafeMutablePointer<Atomic<UInt64>>
    /// Not 0: the writer wants to be notified of room.
    let writerWaits: UnsafeMutablePointer<Atomic<UInt32>>
    /// 1 + the processor on which the writer ran when it wrote last; 0: it does not say.
    let writerProcessor: UnsafeMutablePointer<Atomic<UInt32>>
    /// The number of bytes read so far.
    let taken: UnsafeMutablePointer<Atomic<UInt64>>
    /// Not 0: the reader wants to be notified of bytes.
    let readerWaits: UnsafeMutablePointer<Atomic<UInt32>>
    /// Whether a blocking reader on the reader's side waits for answers, as a number of `AnswerThread`.
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

    /// Clears a request; true if there was one, in which case the doorbell has to be rung.
    @inline(__always)
    static func takeRequest(_ request: UnsafeMutablePointer<Atomic<UInt32>>) -> Bool {
        // An atomic exchange is not needed: only this side clears the request, and the other side checks again after it
        // has set it.
        guard request.pointee.load(ordering: .relaxed) != 0 else { return false }
        request.pointee.store(0, ordering: .relaxed)
        return true
    }
}

/// The state of the blocking reader, which reads answers in place of the loop.
enum AnswerThread {
    static let none: UInt32 = 0
    /// It sleeps until the word is something else.
    static let sleeps: UInt32 = 1
    /// It will check for input before it sleeps or leaves.
    static let looks: UInt32 = 2
}

/// The kinds of frames in a write, which decide which reader is notified.
struct RingContent: OptionSet {
    let rawValue: UInt8

    /// Answers, for which a blocking reader may wait.
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
