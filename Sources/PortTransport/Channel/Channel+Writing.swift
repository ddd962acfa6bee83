internal import CPortShims
internal import Synchronization

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

extension Channel {
    /// Adds a frame.
    ///
    /// The function returns the frame's number: 1, 2, 3 and so on for every frame but continuations.
    ///
    /// The channel owns `descriptors` from now on and closes them, written or not. A frame over the limits ends the
    /// channel, so callers check first.
    package func enqueue(
        kind: UInt8, flags: UInt8, prefix: UnsafeRawBufferPointer, descriptors: [CInt] = []
    ) -> UInt64 {
        enqueue(kind: kind, flags: flags, prefix: prefix, optionalBody: nil, descriptors)
    }

    /// Adds a frame of two parts, both of which are copied.
    package func enqueue(
        kind: UInt8, flags: UInt8, prefix: UnsafeRawBufferPointer, body: UnsafeRawBufferPointer,
        descriptors: [CInt] = []
    ) -> UInt64 {
        enqueue(kind: kind, flags: flags, prefix: prefix, optionalBody: body, descriptors)
    }

    @inline(__always)
    private func enqueue(
        kind: UInt8, flags: UInt8, prefix: UnsafeRawBufferPointer, optionalBody: UnsafeRawBufferPointer?,
        _ descriptors: [CInt]
    ) -> UInt64 {
        let size = prefix.count + (optionalBody?.count ?? 0)
        guard !isForked else { return 0 }
        let held = queueLock.lock()
        guard canAppend(size, descriptors, held) else { return refuse(size, descriptors, unlocking: held) }
        let isAnswer = noteContent(kind, held)
        let number = writing.queue.append(
            kind: kind, flags: flags, prefix: prefix, body: optionalBody, descriptors: descriptors,
            isAnswer: isAnswer)
        let unsent = writing.queue.unsentOwnFrames
        if unsent >= Int(unsentFrames) { frameQueueIsFull.store(true, ordering: .relaxed) }
        queueLock.unlock(held)
        if unsent > Int(mostUnsentFrames) { endUnread() }
        return number
    }

    /// Adds a large message.
    ///
    /// Its first frame, the *opener*, carries `prefix`. The `segments` follow in continuations, and are written
    /// from where they are in memory.
    package func enqueue(
        kind: UInt8, flags: UInt8, prefix: UnsafeRawBufferPointer, segments: [OutboundSegment],
        descriptors: [CInt] = []
    ) -> UInt64 {
        guard !isForked else { return 0 }
        let held = queueLock.lock()
        guard canAppend(prefix.count + 8, descriptors, held) else {
            return refuse(prefix.count, descriptors, unlocking: held)
        }
        let isAnswer = noteContent(kind, held)
        let number = writing.queue.append(
            kind: kind, flags: flags, prefix: prefix, segments: segments, descriptors: descriptors,
            isAnswer: isAnswer)
        let unsent = writing.queue.unsentOwnFrames
        if unsent >= Int(unsentFrames) { frameQueueIsFull.store(true, ordering: .relaxed) }
        queueLock.unlock(held)
        if unsent > Int(mostUnsentFrames) { endUnread() }
        return number
    }

    @inline(never)
    private func endUnread() {
        let what = "The peer does not read: more than \(mostUnsentFrames) bytes of frames are unsent."
        end(.failed(TransportError(.limitExceeded, what)))
    }

    /// Whether too many bytes of this side's own whole frames are unsent, so that the owner should wait before it adds
    /// more.
    ///
    /// The handler is notified on the loop when half of them are written. Answers do not count, because they never
    /// wait.
    @inline(__always)
    package var isFrameQueueFull: Bool { frameQueueIsFull.load(ordering: .relaxed) }

    /// Whether a large message of `count` bytes may be enqueued; always true if no other is unsent.
    ///
    /// If false, the handler is notified on the loop once there is room and at most half of the limit is unsent.
    /// Answers do not count.
    package func hasMessageRoom(for count: Int) -> Bool {
        guard !isForked else { return true }
        return queueLock.withLock {
            let unsent = writing.queue.unsentOwnMessages
            let most = Int(unsentMessages)
            if unsent == 0 || count <= most && unsent <= most - count { return true }
            let mark = max(0, min(most / 2, most - count))
            let large = writing.madeLarge()
            large.mark = max(large.mark ?? 0, mark)
            return false
        }
    }

    /// - Returns: Whether the frame counts as an answer.
    @inline(__always)
    private func noteContent(_ kind: UInt8, _ held: borrowing Held<WriteState>) -> Bool {
        if kind == answerKind {
            writing.content.formUnion(.answers)
            return true
        }
        writing.content.formUnion(.others)
        return kind < 32 && countedKinds & (1 << UInt32(kind)) != 0
    }

    @inline(__always)
    private func canAppend(_ size: Int, _ descriptors: [CInt], _ held: borrowing Held<WriteState>) -> Bool {
        guard size <= Int(maximumFrame), writing.output.isOpen else { return false }
        if descriptors.isEmpty { return true }
        return carriesDescriptors && descriptors.count <= Self.maximumDescriptors && !writing.output.isShared
            && writing.queue.boundary == nil
    }

    @inline(never)
    private func refuse(
        _ size: Int, _ descriptors: [CInt], unlocking held: consuming Held<WriteState>
    ) -> UInt64 {
        let isOver = !writing.output.isOpen
        let number = writing.queue.appendNothing()
        queueLock.unlock(held)
        for descriptor in descriptors { port_close(descriptor) }
        if !isOver {
            let what =
                size > Int(maximumFrame)
                ? "A frame of \(size) bytes is over the limit of \(maximumFrame)."
                : "The channel cannot carry \(descriptors.count) descriptors on one frame."
            end(.failed(TransportError(.limitExceeded, what, context: ["frame \(number)"])))
        }
        return number
    }

    /// Aborts a large message that is not completely written: the peer gets an abort in place of the rest.
    package func abort(_ number: UInt64) {
        guard !isForked else { return }
        let held = queueLock.lock()
        writing.queue.abort(number)
        let spent = writing.queue.takeSpent()
        queueLock.unlock(held)
        withExtendedLifetime(spent) {}
        setNeedsFlush()
    }

    /// Counts bytes of large messages that the peer has consumed; flushing is left to the caller.
    package func messageCredit(_ bytes: UInt64) -> MessageCredit {
        guard !isForked else { return .counted }
        return queueLock.withLock {
            guard writing.queue.credit(bytes) else { return .notOwed }
            return writing.queue.messageMayGo ? .mayGoOn : .counted
        }
    }

    /// Counts bytes of large messages that this side has consumed; the caller notifies the peer.
    package func consumedMessageBytes(_ bytes: UInt64) {
        consumed.wrappingAdd(bytes, ordering: .relaxed)
    }

    /// Bytes of large messages that the peer, and this side, have begun to send and the other has not consumed; also after
    /// the end.
    ///
    /// Both numbers are zero if nothing is under way and both sides count right.
    package var outstandingMessageBytes: (incoming: UInt64, outgoing: UInt64) {
        guard !isForked else { return (0, 0) }
        let incoming = withReadLock { reading.reader.begun &- consumed.load(ordering: .relaxed) }
        return (incoming, queueLock.withLock { writing.queue.outstanding })
    }

    /// Whether every byte of a message was handed to the kernel; also after the end.
    package func isWritten(_ number: UInt64) -> Bool {
        guard !isForked else { return false }
        return queueLock.withLock { writing.queue.isWritten(number) }
    }

    /// Whether the peer may have every byte of a message; also after the end.
    ///
    /// Unlike `isWritten`, this is true as well during the write that holds the last byte.
    package func mayBeWritten(_ number: UInt64) -> Bool {
        guard !isForked else { return false }
        return queueLock.withLock { writing.queue.mayBeWritten(number) }
    }

    /// Bytes enqueued and not yet handed to the kernel.
    package var queuedBytes: Int {
        guard !isForked else { return 0 }
        return queueLock.withLock { writing.queue.queuedBytes }
    }

    /// Bytes of answers enqueued and not yet handed to the kernel.
    package var unsentAnswers: Int {
        guard !isForked else { return 0 }
        return queueLock.withLock { writing.queue.unsentAnswers }
    }

    /// Bytes of answers ever handed to the kernel.
    package var writtenAnswers: UInt64 {
        guard !isForked else { return 0 }
        return queueLock.withLock { writing.queue.writtenAnswers }
    }

    /// Notifies the handler on the loop once at most `count` bytes of answers are unsent.
    package func notifyWhenAnswers(areAtMost count: Int) {
        guard !isForked else { return }
        let isSo = queueLock.withLock { () -> Bool in
            guard writing.queue.unsentAnswers > count else { return true }
            writing.answerMark = count
            return false
        }
        if isSo { loop.schedule(.notify, on: self) }
    }

    /// Flushes at the end of the loop's iteration, or at once on another thread.
    package func setNeedsFlush() {
        guard !isForked else { return }
        let isSeen =
            eventLoopReference?._withUnsafeGuaranteedRef { $0.flushAtEndOfIteration(self) }
            ?? loop.flushAtEndOfIteration(self)
        if !isSeen { flush() }
    }

    /// Has the channel's loop run a job, on behalf of an executor.
    package func enqueue(_ job: UnownedJob, by runner: any JobRunner) {
        guard let eventLoopReference else { return loop.enqueue(job, by: runner) }
        eventLoopReference._withUnsafeGuaranteedRef { $0.enqueue(job, by: runner) }
    }

    /// Flushes, and waits on the loop's thread for the next input.
    ///
    /// The wait takes place only within a job, and only if the loop has no other work. Otherwise the function refuses
    /// and does nothing.
    package func flushAndWait(for handler: any FrameHandler) -> WaitResult {
        guard !isForked, let eventLoopReference else { return .refused }
        return eventLoopReference._withUnsafeGuaranteedRef { $0.waitInJob(for: handler, flushing: self) }
    }

    /// Keeps the channel after the end of its input, because the peer is about to end its stream in order.
    ///
    /// The channel goes on until `finishWriting`, or until the peer no longer reads, so that calls of the peer are
    /// still answered.
    package func outliveInput() {
        guard !isForked else { return }
        queueLock.withLock { writing.output.outliveInput() }
    }

    /// Refuses further frames; the caller calls `finishWriting` afterwards.
    package func enqueueNoMore() {
        guard !isForked else { return }
        queueLock.withLock { writing.output.finish() }
    }

    /// Ends the output after what is enqueued; frames enqueued later are not sent.
    package func finishWriting() {
        guard !isForked else { return }
        queueLock.withLock { writing.output.finish() }
        flush()
    }
}

/// The result of credit for large messages.
package enum MessageCredit: Sendable {
    /// The peer gives back more credit than was used.
    case notOwed
    case counted
    /// A large message that was waiting may go on.
    case mayGoOn
}
