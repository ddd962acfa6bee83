internal import CPortShims

extension Channel {
    /// Ends both directions now; `ended` is called on the loop.
    ///
    /// Does nothing if the channel has ended.
    package func cancel(_ reason: TransportError) { end(.cancelled(reason)) }

    /// As `cancel`, after an attempt to write what is enqueued.
    package func flushAndCancel(_ reason: TransportError) { flushAndEnd(.cancelled(reason)) }

    func end(_ reason: ChannelEnd) {
        guard !isForked else { return }
        gate.lock()
        let isFirst = gated.pointee.end == nil
        if isFirst { gated.pointee.end = reason }
        gate.unlock()
        guard isFirst else { return }
        // Wakes the peer and whoever reads or writes here; a descriptor merely closed would do neither.
        link.shutdown()
        gate.withLock { signalSeat() }
        loop.schedule(.end, on: self)
    }

    /// The last work of a channel, on the loop.
    func deliverEnd() {
        queueLock.lock()
        if writing.pointee.isClosed {
            queueLock.unlock()
        } else {
            writing.pointee.isClosed = true
            // A thread in the midst of a write leaves for the writing side when it is back.
            if writing.pointee.isFlushing { queueLock.unlock() } else { settleClosed() }
        }
        guard lockReading(or: .end) else { return }
        reading.pointee.isEnded = true
        let handler = reading.pointee.handler
        reading.pointee.handler = nil
        reading.pointee.buffer = nil
        let descriptors = reading.pointee.takeDescriptors()
        unlockReading()
        Self.closeForeign(descriptors)
        gate.lock()
        guard !gated.pointee.isOver, let reason = gated.pointee.end else { return gate.unlock() }
        forgetSources()
        gated.pointee.isOver = true
        gated.pointee.handler = nil
        let isStarted = gated.pointee.isStarted
        signalSeat()
        gate.unlock()
        leaveIfOver()
        handler?.ended(reason)
        if isStarted { Unmanaged.passUnretained(self).release() }
    }

    /// Leaves for the reading side, once the channel is over and no thread drives it.
    func leaveIfOver() {
        gate.lock()
        let leaves = gated.pointee.isOver && !gated.pointee.seat.isTaken && !gated.pointee.readerHasLeft
        if leaves { gated.pointee.readerHasLeft = true }
        gate.unlock()
        if leaves { leave() }
    }

    /// One side of the link is no longer used; the last one closes it.
    func leave() {
        gate.lock()
        gated.pointee.users -= 1
        let isLast = gated.pointee.users == 0
        if isLast { forgetSources() }
        let alsoOutput = !gated.pointee.outputIsClosed
        gate.unlock()
        guard isLast else { return }
        link.close(alsoOutput: alsoOutput)
        path?.close()
    }
}
