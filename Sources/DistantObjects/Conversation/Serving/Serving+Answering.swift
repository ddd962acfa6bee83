import KeyedArchive
@_spi(Queues) import PortTransport

/// The outcome of an attempt to write an answer.
enum AnswerOutcome: UInt8 {
    case written
    /// The answer was not written because too many bytes of answers are unread.
    case tooMuch
    /// The connection has ended.
    case ended
}

// Answers to calls of the peer, the ends of its one-way messages, and its promises: messages that name the answer to an earlier
// call before it is known.
//
// The caller names an answer by the number of its question, until the caller drops the answer. The side that answers
// keeps the messages to an answer in a mailbox of its own, and moves the messages to the mailbox of the object once the
// object is known. So messages to a promise start in the order in which they were sent, before those that the caller
// sends to the object once it has a reference.
extension Serving {
    /// Writes the answer to a call.
    ///
    /// - Parameter kept: What the answer stands for in later messages, if this side keeps the answer.
    mutating func answer(
        _ call: InboundCall, with message: OutboundMessage, _ status: ReturnStatus, keeping kept: KeptAnswer.Outcome?,
        _ session: inout Session<Host>, _ host: Host, _ actions: inout [Action<Host>]
    ) -> AnswerOutcome {
        let encoder = message.encoder
        if encoder.byteCount > AnswerFlow.smallAnswer, answerFlow.isFull(host) { return .tooMuch }
        guard callEnded(call, session) else { return .ended }
        guard let question = call.question else { return .written }
        // Mentions are given back before the answer is written, so that the peer can use the regions for its next call.
        session.memory.giveBackBlobs(&session.outbox)
        let keepsAnswer = call.flags.contains(.keepAnswer)
        if keepsAnswer, settle(question, as: kept, &session, host, &actions) { return .written }
        ReturnFrame(status, to: question).append(to: &session.outbox)
        session.writeTables(of: encoder, host)
        let ended = answers.finish(question, keep: keepsAnswer)
        if let dropped = ended.dropped { discard(dropped, &session, &actions) }
        answerFlow.add(session.outbox.count + encoder.byteCount + ProtocolLimits.headers)
        session.outbox.finish(.return, flags: status.rawValue, with: encoder)
        return .written
    }

    /// Ends a one-way message.
    ///
    /// - Returns: False if the connection has ended.
    @inline(__always)
    mutating func oneWayEnded(
        _ call: InboundCall, _ session: inout Session<Host>, _ host: Host, _ actions: inout [Action<Host>]
    ) -> Bool {
        guard callEnded(call, session) else { return false }
        write(session.credit.oneWayEnded(runningCalls: session.limits.runningCalls), &session, host, &actions)
        return true
    }

    /// Ends a one-way message that has failed, and notifies its sender.
    ///
    /// - Returns: False if the connection has ended.
    mutating func oneWayFailed(
        _ call: InboundCall, _ failure: ConnectionError, _ session: inout Session<Host>, _ host: Host,
        _ actions: inout [Action<Host>]
    ) -> Bool {
        FailedFrame(failure, of: call.number).append(to: &session.outbox)
        answerFlow.add(reportOf: session.outbox.count + ProtocolLimits.headers)
        session.outbox.finish(.failed)
        return oneWayEnded(call, &session, host, &actions)
    }

    /// Counts the end of a call or one-way message.
    ///
    /// - Returns: False if the connection has ended, or this side has said goodbye without waiting for the call.
    private mutating func callEnded(_ call: InboundCall, _ session: borrowing Session<Host>) -> Bool {
        guard session.phase != .ended else { return false }
        if !session.credit.isCountedApart(isOneWay: call.question == nil) { runningCalls -= 1 }
        unfinished -= 1
        return !session.outbox.isClosed
    }

    // MARK: Cancelled calls

    /// Cancels a call of the peer, and the calls whose dropped answers only this call needed.
    mutating func cancel(
        _ question: UInt32, _ session: borrowing Session<Host>, _ actions: inout [Action<Host>]
    ) throws(ProtocolViolation) {
        if let call = try answers.cancel(question) { actions.append(.cancel(call)) }
        endUses(by: question, &actions)
        // An orderly close no longer waits for the cancelled calls.
        if session.phase == .closing { actions.append(.closeIfIdle) }
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

    // MARK: Promises

    /// Counts the answers that a message names as its target or among its arguments, and has it fail if its target has failed.
    mutating func noteAnswers(of call: InboundCall, _ target: KeptAnswer?) {
        if let target { answers.use(target, by: call.question) }
        if case .failed(let error)? = target?.state { call.fail(error) }
        if let tables = call.tables { answers.use(argumentsIn: tables, by: call.question) }
    }

    /// Stores the result of an ended call as the answer that later messages name.
    ///
    /// - Returns: Whether nothing else has to be done: the call of a promise is answered only when the peer drops the
    ///   promise.
    private mutating func settle(
        _ question: UInt32, as outcome: KeptAnswer.Outcome?, _ session: inout Session<Host>, _ host: Host,
        _ actions: inout [Action<Host>]
    ) -> Bool {
        guard let answer = answers.keptAnswer(question), let outcome else { return false }
        settle(answer, as: outcome, &session, host)
        guard answer.isPromise, case .object = outcome else { return false }
        let (isKept, dropped) = answers.finish(question, keep: true)
        if !isKept { writeEmptyReturn(question, &session.outbox) }
        if let dropped { discard(dropped, &session, &actions) }
        return true
    }

    private mutating func settle(
        _ answer: KeptAnswer, as outcome: KeptAnswer.Outcome, _ session: inout Session<Host>, _ host: Host
    ) {
        switch outcome {
        case .object(let object):
            let export: Export
            if case .proxy = host.entry(of: object) {
                export = Export(
                    id: .none, object: object, messages: ClassMessages.passedOn, lastMention: 0, mailbox: Mailbox())
                answer.settle(.passedOn(export))
            } else {
                export = session.references.exports.keep(object, messages: ClassMessages.known(object))
                answer.settle(.object(export))
            }
            redirectMessages(to: answer, export, &session)
        case .failed(let error):
            answer.settle(.failed(error))
            for call in answer.takeMessages() {
                call.fail(error)
                queue(call, &session)
            }
        }
        for call in answer.takeDependents() { makeNextReady(of: call.export, &session) }
    }

    /// Sends the messages to an answer to the object that the answer has turned out to be.
    private mutating func redirectMessages(
        to answer: KeptAnswer, _ export: Export, _ session: inout Session<Host>
    ) {
        let mailbox = export.mailbox
        if mailbox.waiting.isEmpty {
            while let call = answer.popMessage() {
                call.redirect(to: export)
                mailbox.waiting.append(call)
            }
        } else {
            let messages = answer.takeMessages()
            for call in messages { call.redirect(to: export) }
            // A later message to the object may wait for the answer to one of these messages.
            mailbox.merge(messages)
        }
        makeNextReady(of: export, &session)
    }

    /// Enters that the peer names an answer no more.
    mutating func receiveDrop(
        _ question: UInt32, _ session: inout Session<Host>, _ actions: inout [Action<Host>]
    ) throws(ProtocolViolation) {
        switch try answers.drop(question) {
        case .nothing, .answered(nil), .pending(nil): break
        case .answered(let answer?):
            if answer.isPromise, answer.object != nil { writeEmptyReturn(question, &session.outbox) }
            discard(answer, &session, &actions)
        case .pending(let answer?): if answer.isUnneeded { try cancel(question, session, &actions) }
        }
    }

    /// Releases an answer that the peer has dropped.
    private mutating func discard(
        _ answer: KeptAnswer, _ session: inout Session<Host>, _ actions: inout [Action<Host>]
    ) {
        switch answer.state {
        case .object(let export):
            session.references.exports.unkeep(export)
            actions.append(.unexport(export))
        case .passedOn, .pending, .failed: actions.append(.release(answer))
        }
    }

    /// Answers the call of a promise that the peer has dropped.
    private mutating func writeEmptyReturn(_ question: UInt32, _ outbox: inout Outbox) {
        let frame = ReturnFrame(.result, to: question)
        frame.append(to: &outbox)
        EmptyMessage.append(to: &outbox)
        answerFlow.add(outbox.count + ProtocolLimits.headers)
        outbox.finish(.return, flags: frame.status.rawValue)
    }
}
