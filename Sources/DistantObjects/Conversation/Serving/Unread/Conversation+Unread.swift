// Answers that the peer does not read.
extension Conversation {
    /// Checks again whether the peer reads its answers.
    @inline(__always)
    mutating func lookAtAnswers(_ host: Host, _ actions: inout [Action<Host>]) {
        if answerFlow.phase != .open { _ = answerFlow.isHolding(host) }
        if answerFlow.isDraining { checkDraining(host, &actions) }
    }

    @inline(never)
    mutating func checkDraining(_ host: Host, _ actions: inout [Action<Host>]) {
        switch answerFlow.checkDraining(host) {
        case .draining: actions.append(.awaitAnswers(atMost: 0))
        case .drained: actions.append(.releaseFreeMemory)
        case .notDraining: break
        }
    }

    /// Counts one tick of the time for which calls may wait for the peer to read.
    ///
    /// - Returns: Whether calls may start.
    mutating func answersTick(_ host: Host, _ actions: inout [Action<Host>]) -> Bool {
        guard phase != .ended else { return false }
        if answerFlow.tick(host) { actions.append(.startAnswerTimer) }
        writeHeldCredit(host, &actions)
        checkWindow(&actions)
        if laidAside.isBlocked, answerFlow.startTicking() { actions.append(.startAnswerTimer) }
        return hasStartable
    }
}
