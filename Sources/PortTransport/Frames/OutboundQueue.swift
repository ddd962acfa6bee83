/// The output that a channel has yet to write: a pure structure, under the channel's queue lock.
///
/// Whole frames, openers and aborts go into the *frame queue*, as bytes in the order in which they were enqueued. Large
/// messages have a queue of their own. Their continuations, fragments of 64 KiB, are written only when the frame queue
/// is empty, so every frame passes them.
///
/// A write is planned (`plan`), done by the caller without the lock, and accounted for (`advance`); between the two,
/// bytes are only added. A plan is a list of parts in the order of their bytes. `advance` walks that list, and what is
/// left of it begins the next plan. A part of which no byte was written leaves no trace, except a filled piece.
package struct OutboundQueue: ~Copyable {
    /// A continuation of a large message.
    struct Fragment {
        var payload: Int
        var isLast: Bool
        /// Its payload is in a region, so only the header is written.
        var isPiece = false
        /// Bytes written of header and payload.
        var written = 0
        var left: Int { headerSize + (isPiece ? 0 : payload) - written }
        var headerSize: Int { isPiece ? FrameHeader.pieceSize : FrameHeader.continuationSize }
        /// Bytes of the payload that the peer has.
        var payloadWritten: Int {
            isPiece ? (left == 0 ? payload : 0) : max(0, written - FrameHeader.continuationSize)
        }
    }

    struct Descriptors {
        /// The positions in the frame queue where its frame begins and ends.
        let start: UInt64
        let end: UInt64
        let numbers: [CInt]
        /// The frame may be sent without them.
        let areOptional: Bool
    }

    /// Consecutive bytes of a plan.
    enum Part {
        /// So many bytes of the frame queue.
        case frames(Int)
        /// A continuation of the first large message.
        case continuation(Fragment)
    }

    package struct Plan: ~Copyable {
        /// In the order of their bytes.
        var parts: [Part] = []
        package var vectors = 0
        package var bytes = 0
        package var descriptors: [CInt] = []
        /// Keeps the memory of the continuations' segments during the write.
        var message: LargeMessage?
        /// The continuation whose payload the caller copies into a piece.
        var piece: Fragment?
        /// The continuations are of a message that takes pieces, if there is a region.
        var takesPieces = false
        var descriptorFrames = 0
    }

    /// The position in the frame queue where a frame ends, and its size if it counts as an answer.
    struct FrameEnd {
        let end: UInt64
        let answer: Int
    }

    package static let maximumVectors = 128
    static let maximumFragments = 4
    /// Memory that the frame queue of an idle channel keeps.
    static let keptCapacity = 128

    var filling = ByteQueue()
    var draining = ByteQueue()
    /// All bytes that the frame queue has ever taken, and all that were written.
    var frameBytesEnqueued: UInt64 = 0
    var frameBytesWritten: UInt64 = 0
    package internal(set) var lastNumber: UInt64 = 0
    /// The ends of the frames that follow the first `writtenFrames`, except the end of the open frame: a channel that
    /// writes one frame at a time needs no memory for them.
    var ends = Ring<FrameEnd>()
    var writtenFrames: UInt64 = 0
    /// Nil before the first large message.
    var large: LargeOutput?
    var descriptors = Ring<Descriptors>()
    /// The end of the last frame whose descriptors were sent.
    var descriptorsSent: UInt64 = 0
    /// The position in the frame queue from which the output goes to shared memory: no write holds bytes from both
    /// sides of it.
    var boundary: UInt64?
    /// A plan was made and not accounted for.
    var isPlanned = false
    /// The last frame is open: nothing was enqueued behind it, and it is not written.
    ///
    /// It ends at `frameBytesEnqueued`.
    var hasOpenFrame = false
    /// The size of the open frame, if it counts as an answer.
    ///
    /// Together with `hasOpenFrame` it takes a word less than an optional.
    private var openAnswer: UInt32 = 0
    let window: UInt64
    let sizes: OutputSizes.Shared
    /// Bytes of large messages begun and not yet consumed by the peer.
    package var outstanding: UInt64 { large?.outstanding ?? 0 }
    package internal(set) var queuedBytes = 0
    /// Bytes of answers that are not written; a whole frame counts until its last byte is written.
    package var unsentAnswers: Int { frameAnswers + (large?.unsentAnswers ?? 0) }
    /// Bytes of whole frames that are not answers, and not written.
    @inline(__always)
    package var unsentOwnFrames: Int { Int(truncatingIfNeeded: frameBytesEnqueued &- frameBytesWritten) - frameAnswers }
    /// Bytes of large messages that are not answers, and not written.
    package var unsentOwnMessages: Int { large?.unsentOwn ?? 0 }
    var frameAnswers = 0
    /// All bytes of answers that were written.
    package internal(set) var writtenAnswers: UInt64 = 0

    package init(window: UInt64, sizes: OutputSizes = OutputSizes()) {
        self.window = window
        self.sizes = .of(sizes)
    }

    package var isEmpty: Bool { queuedBytes == 0 }

    /// The number of the large message that is being written, or is next.
    package var firstMessage: UInt64? { large?.messages.first?.number }

    // MARK: Adding

    /// Adds a whole frame and returns its number.
    @inline(__always)
    package mutating func append(
        kind: UInt8, flags: UInt8, prefix: UnsafeRawBufferPointer, body: UnsafeRawBufferPointer?, descriptors: [CInt],
        areOptional: Bool = false, isAnswer: Bool = false
    ) -> UInt64 {
        let length = prefix.count + (body?.count ?? 0)
        let size = FrameHeader.size + length
        let target = filling.extend(size)
        FrameHeader(
            length: UInt32(truncatingIfNeeded: length), kind: kind, flags: flags,
            descriptors: UInt16(truncatingIfNeeded: descriptors.count)
        ).write(to: target)
        if let base = prefix.baseAddress {
            (target + FrameHeader.size).copyMemory(from: base, byteCount: prefix.count)
        }
        if let body, let base = body.baseAddress {
            (target + FrameHeader.size + prefix.count).copyMemory(from: base, byteCount: body.count)
        }
        return numbered(size, descriptors, areOptional, isAnswer: isAnswer)
    }

    /// Adds a large message: its opener and its segments.
    package mutating func append(
        kind: UInt8, flags: UInt8, prefix: UnsafeRawBufferPointer, segments: [OutboundSegment], descriptors: [CInt],
        isAnswer: Bool = false
    ) -> UInt64 {
        let total = segments.reduce(0) { $0 + $1.bytes.count }
        let length = 8 + prefix.count
        let size = FrameHeader.size + length
        let target = filling.extend(size)
        FrameHeader(
            length: UInt32(truncatingIfNeeded: length), kind: kind, flags: flags | FrameHeader.fragmentedFlag,
            descriptors: UInt16(truncatingIfNeeded: descriptors.count)
        ).write(to: target)
        (target + FrameHeader.size).storeBytes(of: UInt64(total).littleEndian, as: UInt64.self)
        if let base = prefix.baseAddress {
            (target + FrameHeader.size + 8).copyMemory(from: base, byteCount: prefix.count)
        }
        let number = numbered(size, descriptors, isAnswer: isAnswer)
        let large = large ?? LargeOutput(sizes)
        self.large = large
        large.messages.append(LargeMessage(number: number, segments: segments, total: total, isAnswer: isAnswer))
        if isAnswer { large.unsentAnswers += total } else { large.unsentOwn += total }
        // An empty message still has a last continuation to write.
        queuedBytes += max(total, 1)
        return number
    }

    @inline(__always)
    private mutating func numbered(
        _ size: Int, _ numbers: [CInt], _ areOptional: Bool = false, isAnswer: Bool
    ) -> UInt64 {
        if !numbers.isEmpty {
            descriptors.append(
                Descriptors(
                    start: frameBytesEnqueued, end: frameBytesEnqueued + UInt64(size), numbers: numbers,
                    areOptional: areOptional))
        }
        closeFrame()
        frameBytesEnqueued &+= UInt64(size)
        let answer = isAnswer ? size : 0
        frameAnswers &+= answer
        openAnswer = UInt32(truncatingIfNeeded: answer)
        hasOpenFrame = true
        queuedBytes += size
        lastNumber += 1
        return lastNumber
    }

    /// Notes the end of the open frame, before something follows it.
    @inline(__always)
    mutating func closeFrame() {
        guard hasOpenFrame else { return }
        ends.append(FrameEnd(end: frameBytesEnqueued, answer: Int(openAnswer)))
        hasOpenFrame = false
    }

    /// Aborts a large message, unless its last continuation is being written.
    package mutating func abort(_ number: UInt64) {
        guard let large else { return }
        if isPlanned {
            // The message may be complete when the write returns.
            large.delayedAborts.append(number)
            return
        }
        guard let index = large.index(of: number) else { return }
        let message = large.messages[index]
        if index == 0, let fragment = large.unfinished.fragment {
            // A frame that was begun is finished, and a piece that is filled is announced. If it is the last one, there
            // is nothing left to abort.
            if !fragment.isLast { message.isAborted = true }
            return
        }
        drop(message, of: large)
    }

    mutating func drop(_ message: LargeMessage, of large: LargeOutput) {
        if message.isStarted { large.outstanding -= min(large.outstanding, UInt64(message.total)) }
        queuedBytes -= max(message.total, 1) - message.offset
        let left = message.total - message.offset
        if message.isAnswer { large.unsentAnswers -= left } else { large.unsentOwn -= left }
        _ = large.messages.removeFirst { $0 === message }
        large.abandon(message)
        if large.aborted.count > 1_024 { large.aborted.removeFirst(512) }
        // Not numbered: continuations have no number of their own.
        closeFrame()
        let target = filling.extend(FrameHeader.continuationSize)
        FrameHeader(length: 8, kind: FrameHeader.continuationKind, flags: FrameHeader.abortFlag).write(to: target)
        (target + FrameHeader.size).storeBytes(of: message.number.littleEndian, as: UInt64.self)
        frameBytesEnqueued += UInt64(FrameHeader.continuationSize)
        queuedBytes += FrameHeader.continuationSize
    }

    /// The peer has consumed bytes of large messages.
    ///
    /// - Returns: Whether that many were outstanding.
    package mutating func credit(_ bytes: UInt64) -> Bool {
        guard bytes <= outstanding else { return false }
        large?.outstanding -= bytes
        return true
    }

    /// Whether every byte of a message has been handed on.
    package func isWritten(_ number: UInt64) -> Bool {
        guard number > 0, number <= writtenFrames else { return false }
        guard let large else { return true }
        return large.index(of: number) == nil && !large.aborted.contains(number)
    }

    /// Whether the peer may have every byte of a message: like `isWritten`, but also true while a write holds the last
    /// byte.
    ///
    /// The peer can read the bytes, act on them and be gone before the writer is back from the kernel.
    package func mayBeWritten(_ number: UInt64) -> Bool {
        if isWritten(number) { return true }
        guard isPlanned, number > 0 else { return false }
        if let large {
            guard !large.aborted.contains(number) else { return false }
            if let index = large.index(of: number) { return index == 0 && large.isEndPlanned }
        }
        guard number > writtenFrames, let end = end(at: Int(number - writtenFrames) - 1) else { return false }
        return end <= frameBytesWritten + UInt64(draining.count)
    }

    /// The end of the frame at an index, counted from the first frame that is not written; nil if there is none.
    private func end(at index: Int) -> UInt64? {
        if index < ends.count { return ends[index].end }
        return index == ends.count && hasOpenFrame ? frameBytesEnqueued : nil
    }
}
