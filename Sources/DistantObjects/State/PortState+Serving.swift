import KeyedArchive
@_spi(Queues) import PortTransport

// Calls of the peer. Each is entered, becomes ready once the earlier messages to its object have started, starts, and
// is answered.
extension PortState {
    mutating func receiveCall(
        _ reader: inout WireReader, _ frame: borrowing InboundFrame, _ host: Host, _ actions: inout [Action<Host>]
    ) throws(ProtocolViolation) {
        let header = try CallFrame(reading: &reader, flags: frame.ownFlags, handshake.grants.features)
        let question = header.question
        let isOneWay = question == nil
        // The peer needs no credit for calls that it passes on or makes while it serves a call of this side.
        let asked = knowsPromises ? numbersAsked : nil
        write(
            try credit.usedByPeer(isOneWay: isOneWay, queuedCalls: limits.queuedCalls, asked: asked ?? 0), host,
            &actions)
        var answer: KeptAnswer?
        let export: Export
        switch header.target {
        case .object(let id): export = try self.export(id, host)
        case .answer(let question):
            let named = try answers.namedAnswer(question)
            export = named.target()
            answer = named
        }
        let message = try self.message(header.name, of: export)
        let metadata = try header.metadata()
        let tables = try readTables(&reader, host, &actions, namesAnswers: knowsPromises)
        try checkBody(of: frame, reader, tables, &actions)
        if let question {
            let numbers = answers.numbers
            try answers.enter(
                question, keeping: answerToKeep(question, header.flags), asked: asked,
                limit: limits.queuedCalls + limits.runningCalls + ProtocolLimits.refusals)
            if answers.numbers > numbers { credit.maySendMore() }
        }
        // After this side's Goodbye no call is answered: its watermark tells the peer that this call was not delivered.
        // The references of the call are entered and then released, as for any message.
        guard !outbox.isClosed else {
            if let tables { actions.append(.release(tables)) }
            return
        }
        unfinished += 1
        let memory = (tables?.memory ?? 0) + (frame.messageLength == nil ? reader.remaining : 0)
        let lacksRoom = lacksRoom(for: memory)
        let isRefused = lacksRoom && !isOneWay
        let isDelayed = answer?.isPending ?? false
        let startsAtOnce =
            frame.messageLength == nil && !isDelayed && !isRefused && !(tables?.namesAnswers ?? false) && export.begin()
        let body = readBody(frame, from: reader.offset, of: export, startsAtOnce: startsAtOnce)
        let call = InboundCall(
            question: question, flags: header.flags, number: frame.number, export: consume export,
            message: consume message,
            argumentCount: header.argumentCount, tables: consume tables,
            deadline: header.deadline(host.now), metadata: metadata, epoch: controls.barriers.enter(),
            isLate: phase != .open,
            body: consume body, memory: memory)
        if isRefused { return refuseAtOnce(call, &actions) }
        waiting.enter(memory, isOneWay: isOneWay)
        if lacksRoom { makeRoomForOneWay(&actions) }
        if call.tables?.fault != nil { call.obstacle = .tables }
        if answer != nil || call.namesAnswers { noteAnswers(of: call, answer) }
        if let answer {
            if case .failed(let error) = answer.state { call.fail(error) }
            if isDelayed { return answer.delay(message: call) }
        }
        if startsAtOnce {
            ready.append(consume call)
        } else {
            queue(call)
        }
    }

    private mutating func readBody(
        _ frame: borrowing InboundFrame, from offset: Int, of export: Export, startsAtOnce: Bool
    ) -> InboundBody {
        guard frame.messageLength == nil else {
            let partial = PartialMessage(purpose: .call(export), of: frame)
            begin(partial, frame)
            return .arriving(partial)
        }
        // The arguments of waiting calls are copied into shared blocks, so that they do not keep whole read buffers.
        if startsAtOnce { return .whole(frame.retain(offset..<frame.bytes.count)) }
        return .whole(waitingBytes.copy(UnsafeRawBufferPointer(rebasing: frame.bytes[offset...])))
    }

    /// Queues a call behind the earlier messages to its object.
    @inline(never)
    mutating func queue(_ call: InboundCall) {
        call.withExport { export in
            export.mailbox.waiting.append(call)
            if !export.mailbox.isBusy { makeNextReady(of: export) }
        }
    }

    /// The message of an object's class that a call names.
    @inline(__always)
    private mutating func message(
        _ name: CallFrame.Name, of export: Export
    ) throws(ProtocolViolation) -> MessageBody {
        switch name {
        case .known(let number): return try namesIn.message(number, in: export.messages)
        case .new(let name, let isInterned): return try message(WireReader.text(name), isInterned, of: export)
        }
    }

    @inline(never)
    private mutating func message(
        _ name: String, _ isInterned: Bool, of export: Export
    ) throws(ProtocolViolation) -> MessageBody {
        if isInterned { try namesIn.append(InternedName(name: name)) }
        return export.messages._withUnsafeGuaranteedRef { $0.message(named: name) }
    }

    /// Checks that a message, or the opener of one in fragments, has the right size.
    @inline(__always)
    mutating func checkBody(
        of frame: borrowing InboundFrame, _ reader: WireReader, _ tables: MessageTables?,
        _ actions: inout [Action<Host>]
    ) throws(ProtocolViolation) {
        if frame.messageLength == nil, reader.remaining <= limits.message { return }
        try checkOpener(reader, isWhole: frame.messageLength == nil, tables, &actions)
    }

    @inline(never)
    private mutating func checkOpener(
        _ reader: WireReader, isWhole: Bool, _ tables: MessageTables?, _ actions: inout [Action<Host>]
    ) throws(ProtocolViolation) {
        do throws(ProtocolViolation) {
            if isWhole {
                throw ProtocolViolation(.overLimit, "a message is larger than the \(limits.message) bytes granted")
            }
            // The opener of a message in fragments ends with the tables.
            try reader.end()
        } catch {
            if let tables { actions.append(.release(tables)) }
            throw error
        }
    }

    /// Makes the next message to an object ready if no other is being started, its bytes have arrived, and the answers
    /// among its arguments are known.
    mutating func makeNextReady(of export: Export) {
        guard phase != .ended else { return }
        let mailbox = export.mailbox
        if mailbox.isLingering, !mailbox.isNeeded { exports.forget(export) }
        guard !mailbox.isBusy, !mailbox.waiting.isEmpty, mailbox.waiting[0].isComplete, !mailbox.waiting[0].isDelayed
        else { return }
        if let answer = mailbox.waiting[0].resolveArguments() { return answer.delay(dependent: mailbox.waiting[0]) }
        mailbox.isBusy = true
        guard let call = mailbox.waiting.popFirst() else { return }
        call.leaveWaiting()
        ready.append(call)
    }

    // MARK: Starting

    /// Whether a call can probably start now; the channel is not asked.
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
        for token in controls.barriers.handled(call.epoch) { outbox.write(PongFrame(token: token)) }
        if call.isOutOfTurn { return }
        call.withExport { export in
            export.mailbox.isBusy = false
            makeNextReady(of: export)
        }
    }

    // MARK: Answering

    /// The outcome of an attempt to write an answer.
    enum AnswerOutcome: UInt8 {
        case written
        /// The answer was not written because too many are unread.
        case tooMuch
        /// The connection has ended.
        case ended
    }

    /// Writes the answer to a call.
    ///
    /// - Parameter kept: What the answer stands for in later messages, if the peer keeps it.
    mutating func answer(
        _ call: InboundCall, with message: OutboundMessage, _ status: ReturnStatus, keeping kept: KeptAnswer.Outcome?,
        _ host: Host, _ actions: inout [Action<Host>]
    ) -> AnswerOutcome {
        let encoder = message.encoder
        if encoder.byteCount > AnswerFlow.smallAnswer, answerFlow.isFull(host) { return .tooMuch }
        guard callEnded(call) else { return .ended }
        guard let question = call.question else { return .written }
        // Written before the answer, so that its receiver can use the memory for its next call.
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

    // MARK: Credit

    /// Writes the credit that is due to the peer.
    @inline(__always)
    private mutating func write(_ due: Credit.Due, _ host: Host, _ actions: inout [Action<Host>]) {
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
        // Answers need no credit. A peer that calls but does not read must not fill this side's memory with them.
        guard !answerFlow.holdsCallCredit(host) else {
            // Calls that wait for credit at their sender are also refused in the end, like those that wait here.
            if answerFlow.startTicking() { actions.append(.startAnswerTimer) }
            return hold(.calls, &actions)
        }
        outbox.write(CreditFrame.calls(UInt64(credit.takeOwedCalls())))
    }

    private mutating func writeOneWayCredit(_ host: Host, _ actions: inout [Action<Host>]) {
        guard !answerFlow.holdsOneWayCredit(host) else { return hold(.oneWays, &actions) }
        let amount = credit.takeOwedOneWays(granting: oneWayRoom(), of: limits.runningCalls)
        if amount > 0 { outbox.write(CreditFrame.oneWays(UInt64(amount))) }
    }

    private mutating func hold(_ kind: Credit.Kinds, _ actions: inout [Action<Host>]) {
        credit.hold(kind)
        actions.append(.awaitAnswers(atMost: limits.unreadAnswers / 2))
    }

    // MARK: Unread answers

    /// Checks again whether the peer reads its answers.
    @inline(__always)
    mutating func lookAtAnswers(_ host: Host, _ actions: inout [Action<Host>]) {
        if answerFlow.phase != .open { _ = answerFlow.isHolding(host) }
        if answerFlow.isDraining { checkDraining(host, &actions) }
    }

    @inline(never)
    private mutating func checkDraining(_ host: Host, _ actions: inout [Action<Host>]) {
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
