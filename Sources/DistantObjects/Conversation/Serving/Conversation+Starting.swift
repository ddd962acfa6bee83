// Calls of the peer that start.
extension Conversation {
    /// Whether a call can probably start now; the channel is not asked for its unsent bytes.
    @inline(__always)
    var hasStartable: Bool { !ready.isEmpty && (answerFlow.mayStartCalls || ready.hasOneWays) }

    /// Starts the next ready call and returns its credit to the peer.
    @inline(__always)
    mutating func startCall(_ host: Host, _ actions: inout [Action<Host>]) -> InboundCall? {
        ready.isEmpty ? nil : startReadyCall(host, &actions)
    }

    @inline(never)
    private mutating func startReadyCall(_ host: Host, _ actions: inout [Action<Host>]) -> InboundCall? {
        guard phase != .ended, handshake.isAccepted, let call = popReady(host, &actions) else { return nil }
        waiting.leave(Int(call.memory), isOneWay: call.question == nil)
        if credit.isOneWayCreditOwed { writeOneWayCredit(host, &actions) }
        if !credit.isCountedApart(isOneWay: call.question == nil) {
            write(credit.callStarted(queuedCalls: limits.queuedCalls), host, &actions)
            if Int(runningCalls) >= limits.runningCalls { call.obstacle = .calls }
            runningCalls += 1
        }
        if let question = call.question, answers.start(question) { call.isCancelled = true }
        if hasStartable, !hasHelper {
            hasHelper = true
            call.needsHelper = true
        }
        return call
    }

    @inline(__always)
    private mutating func popReady(_ host: Host, _ actions: inout [Action<Host>]) -> InboundCall? {
        if answerFlow.isHolding(host) { return popWhileHeld(&actions) }
        guard let call = ready.popFirst() else { return nil }
        if answerFlow.phase == .refusing, call.question != nil { call.obstacle = .answers }
        return call
    }

    /// While the peer does not read its answers, only one-way messages start.
    @inline(never)
    private mutating func popWhileHeld(_ actions: inout [Action<Host>]) -> InboundCall? {
        actions.append(.awaitAnswers(atMost: limits.unreadAnswers / 2))
        if answerFlow.startTicking() { actions.append(.startAnswerTimer) }
        return ready.popFirstOneWay()
    }

    /// Lets the object's next message start, after the method has returned or suspended for the first time.
    mutating func firstJobReturned(_ call: InboundCall) {
        guard phase != .ended, !call.firstJobIsOver else { return }
        call.firstJobIsOver = true
        pings.handled(call.epoch, &outbox)
        if call.isOutOfTurn { return }
        call.withExport { export in
            export.mailbox.isBusy = false
            makeNextReady(of: export)
        }
    }
}
