import KeyedArchive
@_spi(Queues) import PortTransport

// What bounds the peer's calls: their credit, the memory of those that wait, the window for large messages, and the answers that
// the peer does not read.
extension Serving {
    // MARK: Credit

    /// Writes the credit that is due to the peer.
    @inline(__always)
    mutating func write(
        _ due: Credit.Due, _ session: inout Session<Host>, _ host: Host, _ actions: inout [Action<Host>]
    ) {
        switch due {
        case .none: break
        case .calls: writeCallCredit(&session, host, &actions)
        case .oneWays: writeOneWayCredit(&session, host, &actions)
        }
    }

    /// Writes the credit that was held back, if the peer reads its answers again.
    @inline(__always)
    mutating func writeHeldCredit(
        _ session: inout Session<Host>, _ host: Host, _ actions: inout [Action<Host>]
    ) {
        if !session.credit.held.isEmpty { writeCredit(session.credit.held, &session, host, &actions) }
    }

    @inline(never)
    private mutating func writeCredit(
        _ kinds: Credit.Kinds, _ session: inout Session<Host>, _ host: Host, _ actions: inout [Action<Host>]
    ) {
        if kinds.contains(.calls) { writeCallCredit(&session, host, &actions) }
        if kinds.contains(.oneWays) { writeOneWayCredit(&session, host, &actions) }
    }

    private mutating func writeCallCredit(
        _ session: inout Session<Host>, _ host: Host, _ actions: inout [Action<Host>]
    ) {
        // Answers need no credit. A peer that calls but does not read must not fill this side's memory with answers.
        guard !answerFlow.holdsCallCredit(host) else {
            // Calls that wait for credit at the peer are refused in the end, too, like the calls that wait on this
            // side.
            if answerFlow.startTicking() { actions.append(.startAnswerTimer) }
            return hold(.calls, &session, &actions)
        }
        session.outbox.write(CreditFrame.calls(UInt64(session.credit.takeOwedCalls())))
    }

    mutating func writeOneWayCredit(
        _ session: inout Session<Host>, _ host: Host, _ actions: inout [Action<Host>]
    ) {
        guard !answerFlow.holdsOneWayCredit(host) else { return hold(.oneWays, &session, &actions) }
        let room = oneWayRoom(&session)
        let amount = session.credit.takeOwedOneWays(granting: room, of: session.limits.runningCalls)
        if amount > 0 { session.outbox.write(CreditFrame.oneWays(UInt64(amount))) }
    }

    private func hold(_ kind: Credit.Kinds, _ session: inout Session<Host>, _ actions: inout [Action<Host>]) {
        session.credit.hold(kind)
        actions.append(.awaitAnswers(atMost: session.limits.unreadAnswers / 2))
    }

    /// The credit for one-way messages that there is room for.
    ///
    /// A few more are allowed in any case: the messages that wait may wait for others.
    private mutating func oneWayRoom(_ session: inout Session<Host>) -> Int {
        countLaidAside(&session)
        return max(
            (session.limits.waitingBytes - waiting.bytes) / ProtocolLimits.wholeFrame,
            ProtocolLimits.fewestOneWays - waiting.oneWayCount)
    }

    // MARK: Memory of messages that wait
    //
    //     a call comes ------------(there is room, or nothing waits)--> it waits
    //     a call comes ------------(there is none)--------------------> it is refused at once, out of turn
    //     a one-way message comes -(there is none)--------------------> it waits, and calls that wait are refused instead
    //
    // One-way messages are not refused, because nobody would know. Their credit is returned only as far as there is room for the
    // messages that it allows.

    private mutating func countLaidAside(_ session: inout Session<Host>) {
        if waiting.laidAside > 0 { waiting.laidAside = session.large.laidAside.countKept() }
    }

    /// Whether a message would make the memory of the waiting messages exceed the limit.
    ///
    /// One message may always wait, whatever its size. A message that takes no memory here has room: the bytes of a
    /// message in fragments are in the window.
    @inline(__always)
    mutating func lacksRoom(for size: Int, _ session: inout Session<Host>) -> Bool {
        waiting.bytes &+ size > session.limits.waitingBytes && lacksRoomNow(for: size, &session)
    }

    @inline(never)
    private mutating func lacksRoomNow(for size: Int, _ session: inout Session<Host>) -> Bool {
        countLaidAside(&session)
        return size > 0 && waiting.bytes > 0 && waiting.bytes + size > session.limits.waitingBytes
    }

    /// The error of a call for which there is no room.
    private func noRoom(_ limits: ConnectionLimits) -> ConnectionError {
        ConnectionError(
            .overloaded, "more than \(limits.waitingBytes) bytes of messages wait to be started; the call was not run",
            mayHaveRun: false)
    }

    /// Refuses a call that has just come.
    ///
    /// The call does not wait for its turn: there is no room for another call that waits.
    @inline(never)
    mutating func refuseAtOnce(_ call: InboundCall, _ limits: ConnectionLimits, _ actions: inout [Action<Host>]) {
        call.place.becomeReady(.outOfTurn)
        release(call.drop(noRoom(limits)), &actions)
        ready.append(call)
    }

    /// Refuses calls that wait, the latest ones first, until there is room for a one-way message that has just come.
    ///
    /// This makes more room than the message takes, so that a peer cannot have all waiting calls searched for each
    /// message. The refused calls are answered when it is their turn.
    @inline(never)
    mutating func makeRoomForOneWay(_ session: inout Session<Host>, _ actions: inout [Action<Host>]) {
        guard waiting.calls > 0 else { return }
        let limits = session.limits
        let goal = limits.waitingBytes - limits.waitingBytes / 8
        for call in waitingCalls(&session).sorted(by: { $0.number > $1.number }) {
            guard waiting.bytes > goal else { break }
            waiting.leave(Int(call.memory), isOneWay: false)
            if let question = call.question { endUses(by: question, &actions) }
            release(call.drop(noRoom(limits)), &actions)
            makeNextReady(of: call.export, &session)
        }
    }

    /// The calls that take memory and are not started.
    private mutating func waitingCalls(_ session: inout Session<Host>) -> [InboundCall] {
        var calls: [InboundCall] = []
        let add = { (call: InboundCall) in if call.question != nil, call.memory > 0 { calls.append(call) } }
        session.references.exports.forEachWaiting(add)
        answers.forEachWaiting(add)
        ready.forEachCall(add)
        return calls
    }

    private func release(_ dropped: (tables: MessageTables?, largeBytes: Int), _ actions: inout [Action<Host>]) {
        if let tables = dropped.tables { actions.append(.release(tables)) }
        Action.giveBack(dropped.largeBytes, &actions)
    }

    // MARK: The window for large messages
    //
    // Messages that take its room may wait for something that needs messages to come for which there is no room.

    /// Gives room in the window back early, if the window is too short for the messages that are arriving.
    ///
    /// The room is that of messages that have come and wait, which are then laid aside. Together with the small
    /// messages that wait, the messages laid aside keep at most the bytes of `ConnectionLimits.waitingBytes`, or are a
    /// single message. The others stay in the window.
    @inline(__always)
    mutating func makeRoom(_ session: inout Session<Host>, _ actions: inout [Action<Host>]) {
        if session.large.laidAside.isShort(session.settings.window) { layAside(&session, &actions) }
    }

    @inline(never)
    private mutating func layAside(_ session: inout Session<Host>, _ actions: inout [Action<Host>]) {
        let target = session.large.onlyTarget
        var largeBytes = 0
        let small = waiting.calls + waiting.oneWays
        session.large.laidAside.makeRoom(
            in: session.settings.window, keeping: max(0, session.limits.waitingBytes - small),
            mayLay: { message in
                // If all messages that are arriving are for the object of this one, they would only wait behind it.
                if let target, case .call(let export) = message.recipient { return export !== target }
                return true
            },
            giveBack: { largeBytes += $0 })
        let laidAside = session.large.laidAside
        waiting.laidAside = laidAside.kept
        Action.giveBack(largeBytes, &actions)
        if laidAside.isBlocked, answerFlow.startTicking() { actions.append(.startAnswerTimer) }
    }

    /// Counts one tick of the time for which the window may be blocked, and refuses a message at the end of that time.
    private mutating func checkWindow(_ session: inout Session<Host>, _ actions: inout [Action<Host>]) {
        guard session.large.laidAside.isBlocked else { return }
        let ticks = session.large.laidAside.tick()
        makeRoom(&session, &actions)
        guard session.large.laidAside.isBlocked else { return }
        session.large.laidAside.goOn(ticks)
        guard ticks > AnswerFlow.ticks, isRoomNeeded(session),
            let message = session.large.laidAside.firstWaiting(where: { waitsForOthers($0) })
        else { return }
        Action.giveBack(message.takeLargeBytes(), &actions)
        refuse(message, &session, &actions)
    }

    /// Whether anything waits for a message that is arriving.
    private func isRoomNeeded(_ session: borrowing Session<Host>) -> Bool {
        session.large.arriving.values.contains { partial in
            if case .stream(let stream) = partial.recipient { (stream as? StreamInbox)?.waiter != nil } else { true }
        }
    }

    /// Whether a message that has come waits for something else than its turn.
    private func waitsForOthers(_ message: PartialMessage) -> Bool {
        switch message.recipient {
        case .call(let export): KeptAnswer.isPending(export) || export.mailbox.waitsForAnswers
        case .stream: true
        case .reply, .refused: false
        }
    }

    private func refuse(
        _ message: PartialMessage, _ session: inout Session<Host>, _ actions: inout [Action<Host>]
    ) {
        switch message.recipient {
        case .call: message.refuse()
        case .stream(let stream):
            guard let inbox = stream as? StreamInbox else { return }
            let error = ConnectionError(
                .overloaded,
                "items that are not read take more than \(session.limits.waitingBytes) bytes, and other messages wait for their room",
                context: "the stream")
            session.streams.stopReading(inbox, error, &session.outbox, &actions)
        case .reply, .refused: break
        }
    }

    // MARK: Answers that the peer does not read

    /// Checks again whether the peer reads its answers.
    @inline(__always)
    mutating func lookAtAnswers(_ host: Host, _ actions: inout [Action<Host>]) {
        if !answerFlow.isOpen { _ = answerFlow.isHolding(host) }
        if answerFlow.phase == .draining { checkDraining(host, &actions) }
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
    mutating func answersTick(
        _ session: inout Session<Host>, _ host: Host, _ actions: inout [Action<Host>]
    ) -> Bool {
        guard session.phase != .ended else { return false }
        if answerFlow.tick(host) { actions.append(.startAnswerTimer) }
        writeHeldCredit(&session, host, &actions)
        checkWindow(&session, &actions)
        if session.large.laidAside.isBlocked, answerFlow.startTicking() { actions.append(.startAnswerTimer) }
        return hasStartable
    }
}
