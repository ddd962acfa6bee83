// The orderly close, and the end of the connection.
extension Conversation {
    /// Begins an orderly close: calls that wait for credit fail, and calls under way are answered.
    ///
    /// - Returns: False if the connection was never open and has to be cut.
    mutating func beginClosing(_ actions: inout [Action<Host>]) -> Bool {
        guard phase == .open else { return phase != .handshake }
        enter(.closing)
        streams.close(&outbox, &actions)
        failPending(ConnectionError(.notSent, "the connection is closing; the call was not sent"), &actions)
        return true
    }

    /// Writes the Goodbye of an orderly close, once all calls in both directions are answered.
    ///
    /// The Goodbye does not wait for calls that were cancelled: their methods may never return, and nobody waits for
    /// the answers.
    mutating func sayGoodbyeIfIdle() -> Bool {
        guard phase == .closing, Int(unfinished) == cancelledCount, !outbox.isClosed, !isAwaited else {
            return false
        }
        writeGoodbye(.closed, "")
        return true
    }

    mutating func writeGoodbye(_ reason: GoodbyeReason, _ text: String) {
        guard !outbox.isClosed else { return }
        outbox.write(GoodbyeFrame(entered: entered, reason, text))
    }

    mutating func receive(
        _ frame: GoodbyeFrame, _ actions: inout [Action<Host>]
    ) throws(ProtocolViolation) -> DeliveryStep {
        guard frame.entered <= sent else {
            throw ProtocolViolation(.unknownName, "a Goodbye names a frame that was never sent")
        }
        guard !ending.peerSaidGoodbye else { throw ProtocolViolation(.outOfStep, "a second Goodbye") }
        ending.peerGoodbye = frame
        oneWays.notTaken(after: frame.entered)
        actions.append(.peerSaidGoodbye)
        // The peer sends no more frames, but reads on until its calls are answered.
        return frame.reason == .closed ? .outliveInput : .none
    }

    /// Fails the calls that the peer had not answered before its Goodbye, because it sends no more answers.
    ///
    /// The calls fail at once: the peer may wait for a method of this side that waits for one of these calls.
    mutating func failUnanswered(_ host: Host, _ name: String, _ actions: inout [Action<Host>]) {
        guard let goodbye = ending.peerGoodbye else { return }
        let end = ConnectionEnd.closedByPeer(goodbye.text)
        if calling.isMade { fail(questions.removeUnanswered(), end, host, name, &actions) }
        failPings(end, name, &actions)
    }

    /// Whether the connection takes no more messages because it has ended or is ending.
    var isEnded: Bool {
        switch phase {
        case .handshake: false
        case .open: outbox.isClosed || ending.peerSaidGoodbye || ending.peerIsClosing
        case .closing, .ending, .ended: true
        }
    }

    /// Fails everything that waits for the peer, because no more input comes from it.
    ///
    /// No message is sent after this transition, and only the transition `end(_:)` follows. If the function is called
    /// again, the reason of the first call stays.
    /// - Returns: The reason that the first call gave.
    mutating func endCalls(
        _ host: Host, _ name: String, _ actions: inout [Action<Host>], because reason: (Ending) -> ConnectionEnd
    ) -> ConnectionEnd {
        if let verdict = ending.verdict { return verdict }
        let end = reason(ending)
        // A table that was not needed until now is not needed for the end either.
        if rare.isMade { oneWays.ended(end) { host.mayBeWritten($0) } }
        enter(.ending)
        ending.verdict = end
        if calling.isMade { fail(questions.removeAll(), end, host, name, &actions) }
        failPings(end, name, &actions)
        let partialStreams = partials.values.compactMap { partial in
            if case .stream(let stream) = partial.purpose { stream as? StreamInbox } else { nil }
        }
        streams.end(end, partial: partialStreams, &actions)
        failPending(ConnectionError(.notSent, "\(end); the call was not sent", context: name), &actions)
        return end
    }

    /// The last transition.
    ///
    /// The transition empties every table. Its actions cancel the running methods and release the objects that the peer
    /// referred to.
    mutating func end(_ actions: inout [Action<Host>]) {
        enter(.ended)
        outbox.close()
        let leftovers = Leftovers()
        leftovers.calls = ready.removeAll()
        if serving.isMade {
            let (freed, waiting) = exports.removeAll()
            let ended = answers.removeAll()
            leftovers.exports = freed
            leftovers.calls += waiting + ended.waiting
            leftovers.answers = ended.kept
            for call in ended.running { actions.append(.cancel(call)) }
        }
        if rare.isMade {
            leftovers.partials = Array(partials.values)
            leftovers.regions = blobs?.removeAll() ?? []
            blobs = nil
            partials = [:]
        }
        // Methods that still run are not counted any more.
        (unfinished, runningCalls) = (0, 0)
        if calling.isMade { imports.removeAll() }
        waitingBytes.end()
        actions.append(.release(leftovers))
    }

    // MARK: Failing calls

    private mutating func fail(
        _ questions: [Question<Waiter>], _ end: ConnectionEnd, _ host: Host, _ name: String,
        _ actions: inout [Action<Host>]
    ) {
        for question in questions {
            if let timer = question.timer { actions.append(.cancelTimer(timer)) }
            guard let waiter = question.waiter else { continue }
            actions.append(.fail(waiter, outcome(of: question.number, end, host, name)))
        }
    }

    private mutating func outcome(
        of number: UInt64, _ end: ConnectionEnd, _ host: Host, _ name: String
    ) -> ConnectionError {
        if !host.mayBeWritten(number) {
            return ConnectionError(.notSent, "\(end); the call was not sent", context: name)
        }
        if let goodbye = ending.peerGoodbye, number > goodbye.entered {
            return ConnectionError(.notDelivered, "\(end); the peer did not take the call", context: name)
        }
        return ConnectionError(
            .outcomeUnknown, "\(end) before the answer came; the call may have run or not", context: name)
    }

    private mutating func failPings(_ end: ConnectionEnd, _ name: String, _ actions: inout [Action<Host>]) {
        for continuation in pings.removeAll() {
            actions.append(.pong(continuation, ConnectionError(.closed, end.description, context: name)))
        }
    }

    /// Fails the messages that wait for credit or room.
    private mutating func failPending(_ error: ConnectionError, _ actions: inout [Action<Host>]) {
        for item in pending.removeAll() {
            switch item.kind {
            case .call(let ticket, let waiter):
                if questions.phase(of: ticket) != nil, let timer = questions.finish(ticket.index).timer {
                    actions.append(.cancelTimer(timer))
                }
                actions.append(.fail(waiter, error))
            case .oneWay(_, let waiter):
                actions.append(.oneWay(waiter, error))
            }
            actions.append(.recycle(item.message))
        }
    }
}

/// Objects that a connection held when it ended.
private final class Leftovers: @unchecked Sendable {
    // The object is made under the lock. Then one thread owns it.
    var exports: [Export] = []
    var calls: [InboundCall] = []
    var answers: [KeptAnswer] = []
    var partials: [PartialMessage] = []
    var regions: [AnyObject] = []
}
