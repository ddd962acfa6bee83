// Closing in order, and the end.
extension PortState {
    /// Begins an orderly close: calls that wait for credit fail, those under way are answered.
    ///
    /// - Returns: Whether the connection was ever open; else it has to be cut.
    mutating func beginClosing(_ actions: inout [Action<Host>]) -> Bool {
        guard phase == .open else { return phase != .handshake }
        enter(.closing)
        failPending(ConnectionError(.notSent, "the connection is closing; the call was not sent"), &actions)
        return true
    }

    /// Says goodbye, in an orderly close, once every call that was read is answered and every answer waited for here has come.
    mutating func sayGoodbyeIfIdle() -> Bool {
        guard phase == .closing, unfinished == 0, !ending.saidGoodbye, !questions.isAwaited else { return false }
        writeGoodbye(.closed, "")
        return true
    }

    mutating func writeGoodbye(_ reason: GoodbyeReason, _ text: String) {
        guard !ending.saidGoodbye else { return }
        ending.saidGoodbye = true
        outbox.appendGoodbye(entered: entered, reason, text)
        write(.goodbye, .last)
    }

    mutating func receiveGoodbye(
        _ reader: inout WireReader, _ actions: inout [Action<Host>]
    ) throws(ProtocolViolation) -> DeliveryStep {
        let watermark = try reader.number()
        let reason = GoodbyeReason(rawValue: try reader.number())
        let text = try reader.text(limit: 1_024)
        guard watermark <= sent else {
            throw ProtocolViolation(.unknownName, "a Goodbye names a frame that was never sent")
        }
        guard !ending.peerSaidGoodbye else { throw ProtocolViolation(.outOfStep, "a second Goodbye") }
        ending.peerGoodbye = Ending.PeerGoodbye(entered: watermark, reason: reason, text: text)
        oneWays.notTaken(after: watermark)
        actions.append(.peerSaidGoodbye)
        // It ends its stream now, and reads ours until what it asked for is answered.
        return reason == .closed ? .outliveInput : .none
    }

    /// The peer has answered, before its Goodbye, every call it took: no answer comes to the others.
    ///
    /// They may be what a method waits for whose answer the peer waits for.
    mutating func failUnanswered(_ host: Host, _ name: String, _ actions: inout [Action<Host>]) {
        guard let goodbye = ending.peerGoodbye else { return }
        let end = ConnectionEnd.closedByPeer(goodbye.text)
        fail(questions.removeUnanswered(), end, host, name, &actions)
        failControls(end, name, &actions)
    }

    /// Whether the connection takes no more messages, because it has ended or is about to.
    var isEnded: Bool {
        switch phase {
        case .handshake: false
        case .open: ending.peerSaidGoodbye
        case .closing, .ending, .ended: true
        }
    }

    /// Nothing more comes from the peer: what waits for it fails.
    ///
    /// The last transition but one: no message is sent after it. The first caller says why; others get to know.
    mutating func endCalls(
        _ host: Host, _ name: String, _ actions: inout [Action<Host>], because reason: (Ending) -> ConnectionEnd
    ) -> ConnectionEnd {
        if let verdict = ending.verdict { return verdict }
        let end = reason(ending)
        oneWays.ended(end) { host.mayBeWritten($0) }
        enter(.ending)
        ending.verdict = end
        fail(questions.removeAll(), end, host, name, &actions)
        failControls(end, name, &actions)
        failPending(ConnectionError(.notSent, "\(end); the call was not sent", context: name), &actions)
        return end
    }

    /// The last transition: every table is empty after it.
    ///
    /// What is left to the user's code: methods are cancelled, and what the peer held of ours is let go.
    mutating func end(_ actions: inout [Action<Host>]) {
        enter(.ended)
        let (freed, waiting) = exports.removeAll()
        let leftovers = Leftovers(
            exports: freed, calls: ready.removeAll() + waiting, partials: Array(partials.values))
        partials = [:]
        imports.removeAll()
        waitingBytes.end()
        for call in answers.removeAll() { actions.append(.cancel(call)) }
        actions.append(.release(leftovers))
    }

    // MARK: What fails

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

    private mutating func failControls(_ end: ConnectionEnd, _ name: String, _ actions: inout [Action<Host>]) {
        for continuation in controls.removeAll() {
            actions.append(.pong(continuation, ConnectionError(.closed, end.description, context: name)))
        }
    }

    /// Fails what waits for credit or room.
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

/// What a connection held when it ended.
private final class Leftovers: @unchecked Sendable {
    // Made under the lock, owned by one thread after it.
    let exports: [Export]
    let calls: [InboundCall]
    let partials: [PartialMessage]

    init(exports: [Export], calls: [InboundCall], partials: [PartialMessage]) {
        self.exports = exports
        self.calls = calls
        self.partials = partials
    }
}
