internal import Synchronization

extension Channel {
    /// The most polls of one `flushAndWaitBriefly`: frames that are not answers must not keep its thread.
    private static let pollsForAnswer = 4

    /// Flushes, and reads on the calling thread for a short time: it polls, or sleeps where the peer needs its processor.
    ///
    /// For a thread that has other work and can be woken for the answer: waking it costs more than finding the answer
    /// here. Only for shared memory, where reading needs no descriptor. As in `readWhileWaiting`, `done` is called with
    /// no lock held.
    ///
    /// - Parameter done: Whether the thread has its answer.
    /// - Returns: False if the thread may not wait; then nothing was flushed.
    package func flushAndWaitBriefly(until done: () -> Bool) -> Bool {
        guard !isForked, readsSharedMemory.load(ordering: .acquiring), LoopThread.current == nil,
            let code = eventLoopReference?._withUnsafeGuaranteedRef({ $0.polling.load(ordering: .relaxed) }), code > 0
        else { return false }
        let isFixed = PollingMode.nanoseconds(code) != nil
        let held = gate.lock()
        // While there is no blocking reader, the policy is used under the gate.
        guard gated.input.isShared, !gated.input.isEnded, !gated.life.hasEnd,
            gated.blockingReader.mayWaitBriefly(isFixed)
        else {
            gate.unlock(held)
            return false
        }
        guard let resources = enter(unlocking: held) else { return false }
        guard isFixed || Processors.sufficed && !peerIsHere else {
            sleepBriefly(resources, until: done)
            return true
        }
        // The calling thread must not be blocked for long, even if the mode is to poll for longer.
        let deadline = isFixed ? monotonicNow() + PollingPolicy.bound : nil
        defer { leaveBlockingReader(resources) }
        flush()
        for _ in 0..<Self.pollsForAnswer {
            let signals = readerSignals.load(ordering: .acquiring)
            if done() { break }
            guard case .changed? = poll(resources, signals, until: deadline) else { break }
        }
        return true
    }

    /// Flushes, reads and sleeps, as long as a poll may take; for a process with one processor, or one that it shares
    /// with its peer.
    ///
    /// The policy of polls decides, so that a thread does so only where an answer usually comes soon, and alone. A call of
    /// the peer that has to be served first needs another thread, and then this one had better be suspended.
    private func sleepBriefly(_ resources: BlockingReaderResources, until done: () -> Bool) {
        defer { leaveBlockingReader(resources) }
        let frames = framesRead.load(ordering: .relaxed)
        flush()
        let now = monotonicNow()
        guard let policy = resources.session.policy, policy.pointee.polls(at: now) else { return }
        let isAnswered = read(with: resources, until: done, now &+ PollingPolicy.bound) == .done
        let isAlone = framesRead.load(ordering: .relaxed) &- frames <= 1
        _ = policy.pointee.polled(isAnswered: isAnswered && isAlone, time: 0, isQuick: false)
    }

    /// Polls for input without sleeping, if the loop's mode says so; nil once the time for that is over.
    ///
    /// In shared memory an attempt takes no lock. Reading a socket costs less than asking the poller.
    func poll(_ resources: BlockingReaderResources, _ signals: UInt64, until deadline: UInt64?) -> Wait? {
        guard let code = eventLoopReference?._withUnsafeGuaranteedRef({ $0.polling.load(ordering: .relaxed) }), code > 0
        else { return nil }
        if case .memory = link { return nil }
        let time = deadline.map(Self.nanoseconds(until:)) ?? -1
        guard let policy = resources.session.policy,
            var spinning = Spinning(code, &policy.pointee, wait: time, peerIsHere: peerIsHere)
        else {
            Processors.lookIfDue()
            return nil
        }
        // The memory stays while this thread is the blocking reader.
        let memory = readsSharedMemory.load(ordering: .acquiring) ? sharedMemory?.look : nil
        var found: Wait?
        var looked: UInt64 = 0
        while found == nil {
            if readerSignals.load(ordering: .relaxed) != signals {
                found = .changed
            } else if let memory {
                // The caller has read all input; a peer that has written since then has changed the counter.
                if memory.hasChanged { found = readOnThread(resources, isPolling: true) }
                if case .input? = found { found = nil }
            } else if isSocket {
                let wait = readOnThread(resources, isPolling: true)
                if case .input = wait {} else { found = wait }
            } else if resources.wait(0) != 0 {
                found = .input
            }
            guard found == nil else { break }
            guard spinning.goesOn() else { break }
            // An end that came before the signals were read does not change them.
            if spinning.now != looked {
                looked = spinning.now
                if gate.withLock({ gated.life.hasEnd }) { found = .ended }
            }
        }
        spinning.end(isAnswered: found != nil, &policy.pointee)
        return found
    }
}
