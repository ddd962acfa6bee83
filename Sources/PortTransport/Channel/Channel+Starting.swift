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
                // The channel was written to before, so the loop already knows the descriptor.
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
            // Two steps, because the first one holds another reference to the handler.
            let reference = gated.handler?.reference
            return reference?.isHeldOnce ?? false
        }
    }
}
