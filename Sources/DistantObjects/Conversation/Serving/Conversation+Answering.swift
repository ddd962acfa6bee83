import KeyedArchive

// Answers to calls of the peer, and the ends of its one-way messages.
extension Conversation {
    /// The outcome of an attempt to write an answer.
    enum AnswerOutcome: UInt8 {
        case written
        /// The answer was not written because too many bytes of answers are unread.
        case tooMuch
        /// The connection has ended.
        case ended
    }

    /// Writes the answer to a call.
    ///
    /// - Parameter kept: What the answer stands for in later messages, if this side keeps the answer.
    mutating func answer(
        _ call: InboundCall, with message: OutboundMessage, _ status: ReturnStatus, keeping kept: KeptAnswer.Outcome?,
        _ host: Host, _ actions: inout [Action<Host>]
    ) -> AnswerOutcome {
        let encoder = message.encoder
        if encoder.byteCount > AnswerFlow.smallAnswer, answerFlow.isFull(host) { return .tooMuch }
        guard callEnded(call) else { return .ended }
        guard let question = call.question else { return .written }
        // Mentions are given back before the answer is written, so that the peer can use the regions for its next call.
        giveBackBlobs()
        let keepsAnswer = call.flags.contains(.keepAnswer)
        if keepsAnswer, settle(call, question, as: kept, host, &actions) { return .written }
        let frame = ReturnFrame(status, to: question)
        frame.append(to: &outbox)
        writeTables(of: encoder, host)
        let ended = answers.finish(question, keep: keepsAnswer)
        if let dropped = ended.dropped { discard(dropped, &actions) }
        answerFlow.add(outbox.count + encoder.byteCount + ProtocolLimits.headers)
        outbox.finish(.return, flags: status.rawValue, with: encoder)
        return .written
    }

    /// Ends a one-way message.
    ///
    /// - Returns: False if the connection has ended.
    @inline(__always)
    mutating func oneWayEnded(_ call: InboundCall, _ host: Host, _ actions: inout [Action<Host>]) -> Bool {
        guard callEnded(call) else { return false }
        write(credit.oneWayEnded(runningCalls: limits.runningCalls), host, &actions)
        return true
    }

    /// Ends a one-way message that has failed, and notifies its sender.
    ///
    /// - Returns: False if the connection has ended.
    mutating func oneWayFailed(
        _ call: InboundCall, _ failure: ConnectionError, _ host: Host, _ actions: inout [Action<Host>]
    ) -> Bool {
        writeFailed(call.number, failure)
        return oneWayEnded(call, host, &actions)
    }

    /// Counts the end of a call or one-way message.
    ///
    /// - Returns: False if the connection has ended, or this side has said goodbye without waiting for the call.
    private mutating func callEnded(_ call: InboundCall) -> Bool {
        guard phase != .ended else { return false }
        if !credit.isCountedApart(isOneWay: call.question == nil) { runningCalls -= 1 }
        unfinished -= 1
        return !outbox.isClosed
    }

    private mutating func writeFailed(_ number: UInt64, _ error: ConnectionError) {
        let frame = FailedFrame(error, of: number)
        frame.append(to: &outbox)
        answerFlow.add(reportOf: outbox.count + ProtocolLimits.headers)
        outbox.finish(.failed)
    }
}
