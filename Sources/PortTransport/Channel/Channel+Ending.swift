internal import CPortShims

extension Channel {
    /// Ends both directions now; `ended` is called on the loop.
    ///
    /// Does nothing if the channel has ended.
    package func cancel(_ reason: TransportError) { end(.cancelled(reason)) }

    /// Like `cancel`, after an attempt to write what is enqueued.
    package func flushAndCancel(_ reason: TransportError) { flushAndEnd(.cancelled(reason)) }

    func end(_ reason: ChannelEnd) {
        guard !isForked else { return }
        let action = gate.withLock {
            let action = gated.life.end()
            if case .shutDown = action { gated.end = reason }
            return action
        }
        guard case .shutDown = action else { return }
        // Wakes the peer, and the threads that read or write this channel. Closing the descriptor would wake neither.
        link.shutdown()
        gate.withLock { signalReaders($0) }
        loop.schedule(.end, on: self)
    }

    /// Delivers the end to the handler, on the loop: the last work of a channel.
    func deliverEnd() {
        let queueHeld = queueLock.lock()
        switch writing.output.close() {
        case .none, .leaveToWriter: queueLock.unlock(queueHeld)
        case .discard: settleClosed(unlocking: queueHeld)
        }
        guard let readHeld = lockReading(or: .end) else { return }
        reading.input.end()
        reading.handler = nil
        reading.part = nil
        let descriptors = reading.takeDescriptors()
        unlockReading(readHeld)
        Self.closeForeign(descriptors)
        let held = gate.lock()
        guard !gated.life.isOver, let reason = gated.end else { return gate.unlock(held) }
        forgetSources(held)
        let action = gated.life.deliverEnd()
        let handler = gated.handler.take()
        signalReaders(held)
        gate.unlock(held)
        leaveIfOver()
        guard case .deliver = action else { return }
        handler?.ended(reason)
        Unmanaged.passUnretained(self).release()
    }

    /// Delivers the end to a handler whose channel was over before it was started.
    func deliverEnd(to handler: any FrameHandler) {
        guard let reason = gate.withLock({ gated.end }) else { return }
        loop.perform { handler.ended(reason) }
    }

    /// Ends the reading side's use of the link, once the channel is over and no blocking reader uses it.
    func leaveIfOver() {
        if gate.withLock({ gated.life.isOver && !gated.blockingReader.isReading }) { leave(.input) }
    }

    /// One side no longer uses the link; the last one closes it.
    func leave(_ side: LinkUsers) {
        let held = gate.lock()
        let action = gated.users.leave(side)
        if case .closeLink = action { forgetSources(held) }
        let alsoOutput = gated.output != .closed
        gate.unlock(held)
        guard case .closeLink = action else { return }
        link.close(alsoOutput: alsoOutput)
        sharedMemory?.close()
    }
}
