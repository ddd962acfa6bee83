import PortTransport

/// What became of a message that is ready to be sent.
enum CommitOutcome<Place> {
    case committed(Place)
    /// It waits for credit.
    case waiting(Place)
    case failed(any Error)
}

extension PortState {
    /// Whether one-way messages to the peer have a credit of their own.
    var separatesOneWays: Bool { oneWayCredits != nil }

    /// Whether a message may be put on its way now.
    ///
    /// Whatever the peer grants, no more than a bound of our own lies unsent: small messages and large ones have one each. A
    /// message also waits behind those that wait for the same.
    @inline(__always)
    func mayCommit(_ message: OutboundMessage, isOneWay: Bool, _ channel: Channel) -> Bool {
        let credits = isOneWay ? oneWayCredits ?? self.credits : self.credits
        guard credits > 0, !channel.isLaneFull else { return false }
        if pending.isEmpty, !message.isLarge { return true }
        return mayCommitBehindOthers(message, isOneWay: isOneWay && separatesOneWays, channel)
    }

    @inline(never)
    private func mayCommitBehindOthers(_ message: OutboundMessage, isOneWay: Bool, _ channel: Channel) -> Bool {
        pending.isEmpty(oneWay: isOneWay, large: message.isLarge)
            && (!message.isLarge || channel.hasBulkRoom(for: message.encoder.byteCount))
    }

    /// Puts a call on its way, or in the queue of those that wait for credit or room.
    mutating func commit(
        _ message: OutboundMessage, _ ticket: Ticket, _ waiter: Waiter, to channel: Channel
    ) -> CommitOutcome<Ticket> {
        guard mayCommit(message, isOneWay: false, channel) else {
            pending.append(message, .question(ticket, waiter), oneWay: false)
            return .waiting(ticket)
        }
        let number = commitCall(message, question: ticket, to: channel)
        questions.commit(ticket, number: number, waiter: waiter)
        return .committed(ticket)
    }

    /// Frees the slot of a question that cannot be committed any more, which has never been on the wire.
    mutating func checkReserved(_ ticket: Ticket) throws {
        guard questions.phase(of: ticket) == .reserved else {
            // Given up between reserve and commit.
            if questions.phase(of: ticket) == .withdrawn { questions.finish(ticket.index) }
            throw CancellationError()
        }
        if let whyClosed {
            questions.finish(ticket.index)
            throw whyClosed
        }
    }

    /// Why no call may be committed now; `nil` if it may.
    var whyClosed: ConnectionError? {
        switch phase {
        case .open:
            peerGoodbye == nil
                ? nil : ConnectionError(.closed, "the peer is closing the connection; the call was not sent")
        case .handshake:
            ConnectionError(.closed, "the connection is not open yet")
        case .closing:
            ConnectionError(.closed, "the connection is closing; the call was not sent")
        case .ending, .ended:
            ConnectionError(.closed, "the connection has ended; the call was not sent")
        }
    }

    borrowing func checkOpen(_ message: OutboundMessage) throws {
        if let whyClosed { throw ConnectionError(whyClosed.code, whyClosed.message, context: message.name) }
        if message.mayBeTooLarge { try checkSize(of: message) }
    }

    mutating func giveUp(_ ticket: Ticket, _ error: any Error, to channel: Channel) -> [Completion] {
        guard var question = questions[ticket] else { return [] }
        switch question.phase {
        case .reserved:
            if let waiting = pending.removeFirst(where: {
                if case .question(let other, _) = $0.kind { return other == ticket }
                return false
            }), case .question(_, let waiter) = waiting.kind {
                let timer = questions.finish(ticket.index).timer
                return [.recycle(waiting.message), .fail(waiter, error)] + (timer.map { [.cancelTimer($0)] } ?? [])
            }
            // The caller is between reserve and commit; commit will see it.
            question.phase = .withdrawn
            questions[ticket] = question
            return []
        case .sent:
            guard let waiter = question.waiter else { return [] }
            question.phase = .abandoned
            question.waiter = nil
            let timer = question.timer
            question.timer = nil
            questions[ticket] = question
            commitNumber(.cancel, UInt64(question.wire), to: channel)
            return [.fail(waiter, error), .abort(question.number)] + (phase == .closing ? [.closeIfIdle] : [])
                + (timer.map { [.cancelTimer($0)] } ?? [])
        case .free, .withdrawn, .abandoned:
            return []
        }
    }
}
