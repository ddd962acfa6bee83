internal import CPortShims
internal import Synchronization

extension Channel {
    /// The most polls of one `flushAndWaitBriefly`: frames that are not answers must not keep the calling thread
    /// for long.
    private static let pollsForAnswer = 4

    /// Flushes, and reads on the calling thread for a short time: it polls, or yields to a peer on its processor.
    ///
    /// The function is for a thread that has other work and can be woken for the answer: to wake the thread costs more
    /// than to find the answer here. It is only for shared memory, where reading needs no descriptor. As in
    /// `readWhileWaiting`, `done` is called with no lock held.
    ///
    /// - Parameter done: Whether the thread has its answer.
    /// - Returns: False if the thread may not wait; then nothing was flushed.
    package func flushAndWaitBriefly(until done: () -> Bool) -> Bool {
        guard !isForked, readsSharedMemory.load(ordering: .acquiring), LoopThread.current == nil,
            let code = eventLoopReference?._withUnsafeGuaranteedRef({ $0.polling }), code > 0
        else { return false }
        let isFixed = PollingMode.nanoseconds(code) != nil
        let held = gate.lock()
        // The memory stays while the channel has no end, and then while this thread is the blocking reader.
        let isOpen = gated.input.isShared && !gated.input.isEnded && !gated.life.hasEnd
        // On the peer's processor, a poll would keep the peer from running. A yield does not run a peer that polls all
        // the time: such a peer has had more than its share of the processor.
        let yields = isOpen && peerIsHere
        // While there is no blocking reader, the policy is used under the gate.
        guard isOpen, yields ? !isFixed : isFixed || Processors.sufficed,
            gated.blockingReader.mayWaitBriefly(isFixed)
        else {
            gate.unlock(held)
            return false
        }
        let resources = enter(unlocking: held)
        defer { leaveBlockingReader(resources) }
        flush()
        if yields {
            readAndYield(resources, until: done)
        } else {
            // The calling thread must not be blocked for long, even if the mode is to poll for longer.
            let deadline = isFixed ? monotonicNow() + PollingPolicy.bound : nil
            for _ in 0..<Self.pollsForAnswer {
                let signals = readerSignals.load(ordering: .acquiring)
                if done() { break }
                guard case .changed? = poll(resources, signals, until: deadline) else { break }
            }
        }
        return true
    }

    /// Has the loop leave out so many polls for this channel, because other threads of the process need the processors.
    package func skipPolls(_ count: UInt32) { pollsToSkip.store(count, ordering: .relaxed) }

    /// Reads, and yields the processor while there is nothing to read, for at most as long as a poll may take.
    ///
    /// A sleep for so short a time would often cost more than the call: to set the timer of a virtual processor and to
    /// stop it takes 8 µs each.
    private func readAndYield(_ resources: BlockingReaderResources, until done: () -> Bool) {
        guard let policy = resources.session.policy, let memory = sharedMemory?.look else { return }
        let start = monotonicNow()
        guard policy.pointee.polls(at: start) else { return }
        while true {
            let isAnswered = done()
            let isLate = monotonicNow() &- start >= PollingPolicy.bound
            if isAnswered || isLate {
                _ = policy.pointee.polled(isAnswered: isAnswered && !isLate, time: 0, isQuick: false)
                return
            }
            if !memory.hasChanged {
                port_yield()
            } else if case .ended = readOnThread(resources, isPolling: true) {
                return
            }
        }
    }

    /// Polls for input without sleeping, if the loop's mode says so; nil once the time for polling is over.
    ///
    /// In shared memory an attempt takes no lock. Reading a socket costs less than asking the poller.
    func poll(_ resources: BlockingReaderResources, _ signals: UInt64, until deadline: UInt64?) -> Wait? {
        guard let code = eventLoopReference?._withUnsafeGuaranteedRef({ $0.polling }), code > 0
        else { return nil }
        if case .memory = link { return nil }
        let time = deadline.map(Self.nanoseconds(until:)) ?? -1
        guard let policy = resources.session.policy,
            var spinning = Spinning(code, &policy.pointee, wait: time, isInTheWay: peerIsHere)
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
