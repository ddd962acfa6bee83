// Calls of the peer that it cancels, or whose answers nothing needs any more.
extension Conversation {
    /// Cancels a call of the peer, and the calls whose dropped answers only this call needed.
    mutating func cancel(_ question: UInt32, _ actions: inout [Action<Host>]) throws(ProtocolViolation) {
        if let call = try answers.cancel(question) { actions.append(.cancel(call)) }
        endUses(by: question, &actions)
        // An orderly close no longer waits for the cancelled calls.
        if phase == .closing { actions.append(.closeIfIdle) }
    }

    /// Notes that a call no longer needs the answers that it names, and cancels the calls whose dropped answers only
    /// that call needed.
    mutating func endUses(by question: UInt32, _ actions: inout [Action<Host>]) {
        var unneeded = answers.endUses(by: question)
        while let question = unneeded.popLast() {
            // The answer is pending, so the peer has asked the question, and `cancel` throws nothing.
            if let call = try? answers.cancel(question) { actions.append(.cancel(call)) }
            unneeded += answers.endUses(by: question)
        }
    }
}
