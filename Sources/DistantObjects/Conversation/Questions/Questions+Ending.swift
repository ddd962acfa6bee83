import PortTransport

// Calls and one-way messages of this side that fail, because the conversation ends.
extension Questions {
    /// Fails the messages that wait for credit or room.
    mutating func failPending(_ error: ConnectionError, _ actions: inout [Action<Host>]) {
        for item in pending.removeAll() {
            switch item.kind {
            case .call(let ticket, let waiter):
                if table.phase(of: ticket) != nil, let timer = table.finish(ticket.index).timer {
                    actions.append(.cancelTimer(timer))
                }
                actions.append(.fail(waiter, error))
            case .oneWay(_, let waiter):
                actions.append(.oneWay(waiter, error))
            }
            actions.append(.recycle(item.message))
        }
    }

    /// Fails the calls that the peer had not answered before its Goodbye, because it sends no more answers.
    mutating func failUnanswered(
        _ end: ConnectionEnd, _ life: Life, _ host: Host, _ name: String, _ actions: inout [Action<Host>]
    ) {
        guard tables.isMade else { return }
        fail(table.removeUnanswered(), end, life, host, name, &actions)
    }

    /// Fails all calls and one-way messages that may not have run, because no more input comes from the peer.
    mutating func end(
        _ end: ConnectionEnd, _ life: Life, _ host: Host, _ name: String, _ actions: inout [Action<Host>]
    ) {
        // A table that was not needed until now is not needed for the end either.
        if record.isMade { oneWays.ended(end) { host.mayBeWritten($0) } }
        if tables.isMade { fail(table.removeAll(), end, life, host, name, &actions) }
        failPending(ConnectionError(.notSent, "\(end); the call was not sent", context: name), &actions)
    }

    private func fail(
        _ questions: [Question<Waiter>], _ end: ConnectionEnd, _ life: Life, _ host: Host, _ name: String,
        _ actions: inout [Action<Host>]
    ) {
        for question in questions {
            if let timer = question.timer { actions.append(.cancelTimer(timer)) }
            guard let waiter = question.waiter else { continue }
            actions.append(.fail(waiter, outcome(of: question.number, end, life, host, name)))
        }
    }

    private func outcome(
        of number: UInt64, _ end: ConnectionEnd, _ life: Life, _ host: Host, _ name: String
    ) -> ConnectionError {
        if !host.mayBeWritten(number) {
            return ConnectionError(.notSent, "\(end); the call was not sent", context: name)
        }
        if let goodbye = life.peerGoodbye, number > goodbye.entered {
            return ConnectionError(.notDelivered, "\(end); the peer did not take the call", context: name)
        }
        return ConnectionError(
            .outcomeUnknown, "\(end) before the answer came; the call may have run or not", context: name)
    }
}
