import KeyedArchive
@_spi(Queues) import PortTransport

/// The tables that a side needs from the peer's first call on.
struct ServerTables<RunningCall>: ~Copyable, MadeOnDemand {
    var answers = AnswerTable<RunningCall>()
    var names = InboundInterning<InternedName>()
}

/// The owner's half of a conversation: the calls and one-way messages of the peer.
///
/// Each is entered, becomes ready once the earlier messages to its object have started, starts, and is answered.
struct Serving<Host: ConversationHost>: ~Copyable {
    typealias RunningCall = Host.RunningCall

    var tables = LazyBox<ServerTables<RunningCall>>()
    /// Calls of the peer that can start.
    var ready = ReadyCalls()
    var answerFlow: AnswerFlow
    /// Running calls of the peer, without one-way messages that have their own credit.
    var runningCalls: Int32 = 0
    /// Calls and one-way messages of the peer that are entered and not finished.
    var unfinished: Int32 = 0
    /// The memory of the peer's messages that are not started.
    var waiting = WaitingMemory()
    /// The memory for the arguments of calls that arrived in the current read and have to wait.
    var waitingBytes = ByteBatch()
    /// Whether a job on the loop will start the calls in `ready` if the method that runs now blocks.
    var hasHelper = false

    init(_ limits: ConnectionLimits) { answerFlow = AnswerFlow(limit: limits.unreadAnswers) }

    var answers: AnswerTable<RunningCall> {
        @inline(__always) mutating _read { yield tables.value.answers }
        @inline(__always) _modify { yield &tables.value.answers }
    }
    var names: InboundInterning<InternedName> {
        @inline(__always) mutating _read { yield tables.value.names }
        @inline(__always) _modify { yield &tables.value.names }
    }

    /// The number of calls that are not answered, or whose answers are kept.
    var count: Int { tables.read { $0.answers.count + $0.answers.keptCount } ?? 0 }
    /// Whether the calls that are not finished are all cancelled, so that nobody waits for their answers.
    var hasOnlyCancelled: Bool { Int(unfinished) == tables.read { $0.answers.cancelledCount } ?? 0 }

    /// Whether a call can probably start now; the channel is not asked for its unsent bytes.
    @inline(__always)
    var hasStartable: Bool { !ready.isEmpty && (answerFlow.mayStartCalls || ready.hasOneWays) }

    // MARK: Calls that come

    /// Enters a call.
    ///
    /// - Parameter asked: The number of question numbers that this side has used; nil if the sides have not agreed about
    ///   promises. The peer needs no credit for so many calls that it passes on or makes while it serves a call of this side.
    mutating func receiveCall(
        _ reader: inout WireReader, _ frame: borrowing InboundFrame, asked: Int?, _ session: inout Session<Host>,
        _ host: Host, _ actions: inout [Action<Host>]
    ) throws(ProtocolViolation) {
        let header = try CallFrame(reading: &reader, flags: frame.ownFlags, session.handshake.grants.features)
        let question = header.question
        let isOneWay = question == nil
        write(
            try session.credit.usedByPeer(
                isOneWay: isOneWay, queuedCalls: session.limits.queuedCalls, asked: asked ?? 0),
            &session, host, &actions)
        let (export, answer) = try target(header.target, &session, host)
        let message = try self.message(header.name, of: export)
        let metadata = try header.metadata()
        let references = try session.readTables(&reader, host, &actions) { (question) throws(ProtocolViolation) in
            guard asked != nil else {
                throw ProtocolViolation(.malformed, "a reference belongs to neither side")
            }
            return try answers.namedAnswer(question)
        }
        try session.checkBody(of: frame, reader, references, &actions)
        if let question { try enter(question, header.flags, asked: asked, &session) }
        // After this side's Goodbye no call is answered: the Goodbye's watermark tells the peer that this call was not
        // delivered. The references of the call are entered and then released, as for any message.
        guard !session.outbox.isClosed else {
            if let references { actions.append(.release(references)) }
            return
        }
        unfinished += 1
        let memory = (references?.memory ?? 0) + (frame.messageLength == nil ? reader.remaining : 0)
        let lacksRoom = lacksRoom(for: memory, &session)
        let isRefused = lacksRoom && !isOneWay
        let isDelayed = answer?.isPending ?? false
        let startsAtOnce =
            frame.messageLength == nil && !isDelayed && !isRefused && !(references?.namesAnswers ?? false)
            && export.begin()
        let body = readBody(frame, from: reader.offset, of: export, startsAtOnce: startsAtOnce, &session)
        let call = InboundCall(
            question: question, flags: header.flags, number: frame.number, export: consume export,
            message: consume message,
            argumentCount: header.argumentCount, tables: consume references,
            deadline: header.deadline(host.now), metadata: metadata, epoch: session.pings.enterCall(),
            obstacle: session.phase == .open ? .none : .late, place: startsAtOnce ? .ready(.inTurn) : .waiting,
            body: consume body, memory: memory)
        if isRefused { return refuseAtOnce(call, session.limits, &actions) }
        waiting.enter(memory, isOneWay: isOneWay)
        if lacksRoom { makeRoomForOneWay(&session, &actions) }
        if call.tables?.fault != nil { call.obstacle.add(.tables) }
        if answer != nil || call.namesAnswers { noteAnswers(of: call, answer) }
        if startsAtOnce {
            ready.append(consume call)
        } else if let answer, isDelayed {
            answer.delay(message: call)
        } else {
            queue(call, &session)
        }
    }

    /// The object that a call is for, and the answer that the call names instead of an object.
    @inline(__always)
    private mutating func target(
        _ target: CallFrame.Target, _ session: inout Session<Host>, _ host: Host
    ) throws(ProtocolViolation) -> (export: Export, answer: KeptAnswer?) {
        switch target {
        case .object(let id): return (try session.references.export(id, host), nil)
        case .answer(let question):
            let answer = try answers.namedAnswer(question)
            return (answer.target(), answer)
        }
    }

    private mutating func enter(
        _ question: UInt32, _ flags: CallFlags, asked: Int?, _ session: inout Session<Host>
    ) throws(ProtocolViolation) {
        let limits = session.limits
        let numbers = answers.numbers
        try answers.enter(
            question, keeping: asked == nil ? nil : .left(by: question, flags), asked: asked,
            limit: limits.queuedCalls + limits.runningCalls + ProtocolLimits.refusals)
        if answers.numbers > numbers { session.credit.peerHasAsked(answers.numbers) }
    }

    private mutating func readBody(
        _ frame: borrowing InboundFrame, from offset: Int, of export: Export, startsAtOnce: Bool,
        _ session: inout Session<Host>
    ) -> InboundBody {
        guard frame.messageLength == nil else {
            let partial = PartialMessage(recipient: .call(export), of: frame)
            session.large.begin(partial, frame)
            return .arriving(partial)
        }
        // The arguments of waiting calls are copied into shared blocks, so that the calls do not keep whole read
        // buffers.
        if startsAtOnce { return .whole(frame.retain(offset..<frame.bytes.count)) }
        return .whole(waitingBytes.copy(UnsafeRawBufferPointer(rebasing: frame.bytes[offset...])))
    }

    /// The message of an object's class that a call names.
    @inline(__always)
    private mutating func message(
        _ name: CallFrame.Name, of export: Export
    ) throws(ProtocolViolation) -> MessageBody {
        switch name {
        case .known(let number): return try names.message(number, in: export.messages)
        case .new(let name, let isInterned): return try message(WireReader.text(name), isInterned, of: export)
        }
    }

    @inline(never)
    private mutating func message(
        _ name: String, _ isInterned: Bool, of export: Export
    ) throws(ProtocolViolation) -> MessageBody {
        if isInterned { try names.append(InternedName(name: name)) }
        return export.messages._withUnsafeGuaranteedRef { $0.message(named: name) }
    }

    // MARK: Mailboxes

    /// Queues a call behind the earlier messages to its object.
    @inline(never)
    mutating func queue(_ call: InboundCall, _ session: inout Session<Host>) {
        call.withExport { export in
            export.mailbox.waiting.append(call)
            if !export.mailbox.isBusy { makeNextReady(of: export, &session) }
        }
    }

    /// Makes the next message to an object ready if no other message is being started, its bytes have arrived, and the
    /// answers among its arguments are known.
    mutating func makeNextReady(of export: Export, _ session: inout Session<Host>) {
        guard session.phase != .ended else { return }
        let mailbox = export.mailbox
        if mailbox.isLingering, !mailbox.isNeeded { session.references.exports.forget(export) }
        guard !mailbox.isBusy, !mailbox.waiting.isEmpty, mailbox.waiting[0].isComplete,
            mailbox.waiting[0].place != .delayed
        else { return }
        if let answer = mailbox.waiting[0].resolveArguments() { return answer.delay(dependent: mailbox.waiting[0]) }
        mailbox.isBusy = true
        guard let call = mailbox.waiting.popFirst() else { return }
        call.leaveWaiting()
        call.place.becomeReady(.inTurn)
        ready.append(call)
    }

    // MARK: Starting

    /// Starts the next ready call and returns its credit to the peer.
    @inline(__always)
    mutating func startCall(
        _ session: inout Session<Host>, _ host: Host, _ actions: inout [Action<Host>]
    ) -> InboundCall? {
        ready.isEmpty ? nil : startReadyCall(&session, host, &actions)
    }

    @inline(never)
    private mutating func startReadyCall(
        _ session: inout Session<Host>, _ host: Host, _ actions: inout [Action<Host>]
    ) -> InboundCall? {
        guard session.phase != .ended, session.handshake.isAccepted, let call = popReady(session.limits, host, &actions)
        else { return nil }
        waiting.leave(Int(call.memory), isOneWay: call.question == nil)
        if session.credit.isOneWayCreditOwed { writeOneWayCredit(&session, host, &actions) }
        if !session.credit.isCountedApart(isOneWay: call.question == nil) {
            write(session.credit.callStarted(queuedCalls: session.limits.queuedCalls), &session, host, &actions)
            if Int(runningCalls) >= session.limits.runningCalls { call.obstacle.add(.calls) }
            runningCalls += 1
        }
        if let question = call.question, answers.start(question) { call.obstacle.add(.cancelled) }
        let needsHelper = hasStartable && !hasHelper
        if needsHelper { hasHelper = true }
        call.place.start(needsHelper: needsHelper)
        return call
    }

    @inline(__always)
    private mutating func popReady(
        _ limits: ConnectionLimits, _ host: Host, _ actions: inout [Action<Host>]
    ) -> InboundCall? {
        if answerFlow.isHolding(host) { return popWhileHeld(limits, &actions) }
        guard let call = ready.popFirst() else { return nil }
        if answerFlow.phase == .refusing, call.question != nil { call.obstacle.add(.answers) }
        return call
    }

    /// While the peer does not read its answers, only one-way messages start.
    @inline(never)
    private mutating func popWhileHeld(
        _ limits: ConnectionLimits, _ actions: inout [Action<Host>]
    ) -> InboundCall? {
        actions.append(.awaitAnswers(atMost: limits.unreadAnswers / 2))
        if answerFlow.startTicking() { actions.append(.startAnswerTimer) }
        return ready.popFirstOneWay()
    }

    /// Lets the object's next message start, after the method has returned or suspended for the first time.
    mutating func firstJobReturned(_ call: InboundCall, _ session: inout Session<Host>) {
        guard session.phase != .ended else { return }
        let action = call.place.firstJobReturned()
        guard action != .none else { return }
        session.pings.handled(call.epoch, &session.outbox)
        guard action == .countAndFreeObject else { return }
        call.withExport { export in
            export.mailbox.isBusy = false
            makeNextReady(of: export, &session)
        }
    }

    // MARK: The end

    /// Cancels the calls that run, and removes those that wait.
    ///
    /// - Returns: The answers that were kept, and the calls that had not started.
    mutating func removeAll(_ actions: inout [Action<Host>]) -> (kept: [KeptAnswer], calls: [InboundCall]) {
        waitingBytes.end()
        // Methods that still run are not counted any more.
        (unfinished, runningCalls) = (0, 0)
        let calls = ready.removeAll()
        guard tables.isMade else { return ([], calls) }
        let ended = answers.removeAll()
        for call in ended.running { actions.append(.cancel(call)) }
        return (ended.kept, calls + ended.waiting)
    }
}
