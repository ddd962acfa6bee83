import PortTransport

// Credit that the two sides give each other.
extension Conversation {
    mutating func receive(
        _ frame: CreditFrame, _ host: Host, _ actions: inout [Action<Host>]
    ) throws(ProtocolViolation) {
        switch frame {
        case .calls(let count): try credit.give(calls: count, handshake.grants)
        case .oneWays(let count): try credit.give(oneWays: count, handshake.grants)
        case .largeMessages(let bytes):
            switch host.creditLargeMessages(bytes) {
            case .notOwed:
                throw ProtocolViolation(.overLimit, "more credit for large messages is given back than was used")
            case .counted: break
            case .mayGoOn: actions.append(.flush)
            }
            answerFlow.creditCame()
        case .stream(let number, let items, let bytes):
            try checkStreamsAgreed("a Credit for")
            try streams.receiveCredit(of: number, items, bytes, &actions)
        }
    }

    /// Writes the credit that is due to the peer.
    @inline(__always)
    mutating func write(_ due: Credit.Due, _ host: Host, _ actions: inout [Action<Host>]) {
        switch due {
        case .none: break
        case .calls: writeCallCredit(host, &actions)
        case .oneWays: writeOneWayCredit(host, &actions)
        }
    }

    /// Writes the credit that was held back, if the peer reads its answers again.
    @inline(__always)
    mutating func writeHeldCredit(_ host: Host, _ actions: inout [Action<Host>]) {
        if !credit.held.isEmpty { writeCredit(credit.held, host, &actions) }
    }

    @inline(never)
    private mutating func writeCredit(_ kinds: Credit.Kinds, _ host: Host, _ actions: inout [Action<Host>]) {
        if kinds.contains(.calls) { writeCallCredit(host, &actions) }
        if kinds.contains(.oneWays) { writeOneWayCredit(host, &actions) }
    }

    private mutating func writeCallCredit(_ host: Host, _ actions: inout [Action<Host>]) {
        // Answers need no credit. A peer that calls but does not read must not fill this side's memory with answers.
        guard !answerFlow.holdsCallCredit(host) else {
            // Calls that wait for credit at the peer are refused in the end, too, like the calls that wait on this
            // side.
            if answerFlow.startTicking() { actions.append(.startAnswerTimer) }
            return hold(.calls, &actions)
        }
        outbox.write(CreditFrame.calls(UInt64(credit.takeOwedCalls())))
    }

    mutating func writeOneWayCredit(_ host: Host, _ actions: inout [Action<Host>]) {
        guard !answerFlow.holdsOneWayCredit(host) else { return hold(.oneWays, &actions) }
        let amount = credit.takeOwedOneWays(granting: oneWayRoom(), of: limits.runningCalls)
        if amount > 0 { outbox.write(CreditFrame.oneWays(UInt64(amount))) }
    }

    mutating func hold(_ kind: Credit.Kinds, _ actions: inout [Action<Host>]) {
        credit.hold(kind)
        actions.append(.awaitAnswers(atMost: limits.unreadAnswers / 2))
    }

    /// Returns the credit of a large message that was decoded.
    mutating func writeLargeMessageCredit(_ byteCount: Int) {
        outbox.write(CreditFrame.largeMessages(bytes: UInt64(byteCount)))
    }

    /// Gives the peer room for so many bytes in the window for large messages; see `LaidAside`.
    func giveBack(_ largeBytes: Int, _ actions: inout [Action<Host>]) {
        guard largeBytes > 0 else { return }
        actions.append(.discard(Reply(status: .result, body: .empty, largeBytes: largeBytes, tables: nil)))
    }
}
