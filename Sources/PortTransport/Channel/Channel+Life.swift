internal import CPortShims

extension Channel {
    /// Begins to read.
    ///
    /// The channel and its handler live until the handler's `ended` has returned.
    package func start(_ handler: any FrameHandler) {
        // In a forked child, a lock that another thread held at the fork would never be released.
        guard !isForked else { return }
        let action = gate.withLock {
            let action = gated.life.start()
            if case .begin = action { gated.handler = handler }
            return action
        }
        switch action {
        case .refuse: return
        case .deliverEnd: return deliverEnd(to: handler)
        case .begin: break
        }
        _ = Unmanaged.passRetained(self)
        withReadLock { reading.handler = handler }
        if case .memory(let end) = link {
            end.attach(self)
            inputArrived()
            return
        }
        guard let eventLoop else {
            end(.failed(TransportError(.wrongDescriptor, "A manual loop carries memory links only.")))
            return
        }
        do {
            try gate.withLock { (held) throws(TransportError) in
                guard !gated.life.hasEnd else { return }
                // The channel was written to before the start, so the loop already knows the descriptor.
                if gated.inputSource != 0 { return setReadInterest(true, held) }
                let interest = readInterest(held)
                gated.inputSource = try eventLoop.addSource(link.inputDescriptor, interest: interest, self)
                gated.inputInterest = interest
            }
        } catch {
            end(.failed(error))
        }
    }

    /// The handler of the frames; nil before the start and after the end.
    package var handler: (any FrameHandler)? { isForked ? nil : gate.withLock { gated.handler } }

    /// Whether this channel alone refers to its handler.
    package var holdsHandlerAlone: Bool {
        guard !isForked else { return false }
        return gate.withLock {
            // There are two steps, because the first one holds another reference to the handler.
            let reference = gated.handler?.reference
            return reference?.isHeldOnce ?? false
        }
    }

    // MARK: The end

    /// Ends both directions now; `ended` is called on the loop.
    ///
    /// The function does nothing if the channel has ended.
    package func cancel(_ reason: TransportError) { end(.cancelled(reason)) }

    /// Does what `cancel` does, after an attempt to write what is enqueued.
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
        let peerProcess = gated.peerProcess.take()
        signalReaders(held)
        gate.unlock(held)
        if let peerProcess { eventLoop?.forget(peerProcess) }
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

    /// Ends one side's use of the link; the last side closes the link.
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
