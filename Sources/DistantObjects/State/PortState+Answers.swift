import PortTransport

// Calls that want an answer wait, or are refused, while the peer does not read its answers.
extension PortState {
    /// The next call whose turn has come.
    @inline(__always)
    mutating func popReady(for connection: Connection) -> InboundCall? {
        if answerFlow.isHolding(connection.channel) { return popWhileHeld(for: connection) }
        guard let call = ready.popFirst() else { return nil }
        if answerFlow.phase == .refusing, call.question != nil { call.obstacle = .answers }
        return call
    }

    @inline(never)
    private mutating func popWhileHeld(for connection: Connection) -> InboundCall? {
        connection.channel.tellWhenAnswers(areAtMost: limits.unreadAnswers / 2)
        if !answerFlow.isTicking { startTicking(for: connection) }
        return ready.popFirstOneWay()
    }

    private mutating func startTicking(for connection: Connection) {
        answerFlow.isTicking = true
        _ = connection.loop.addTimer(after: limits.answerPatience / AnswerFlow.ticks) { [weak connection] in
            connection?.answersTick()
        }
    }

    /// The peer may have read some of its answers.
    @inline(__always)
    mutating func lookAtAnswers(for connection: Connection) {
        if answerFlow.phase != .open { _ = answerFlow.isHolding(connection.channel) }
        if answerFlow.isEbbing, answerFlow.hasEbbed(connection.channel) {
            connection.loop.perform { connection.releaseFreeMemory() }
        }
    }

    mutating func answersTick(for connection: Connection) {
        answerFlow.isTicking = false
        answerFlow.tick(connection.channel)
        if answerFlow.phase != .open { startTicking(for: connection) }
    }
}
