import KeyedArchive
@_spi(Queues) import PortTransport

// Promises: messages that name the answer to an earlier call before it is known.
//
// The caller names an answer by the number of its question, until the caller drops the answer. The side that answers
// keeps the messages to an answer in a mailbox of its own, and moves the messages to the mailbox of the object once the
// object is known. So messages to a promise start in the order in which they were sent, before those that the caller
// sends to the object once it has a reference.
extension Conversation {
    /// Whether messages may name answers.
    var knowsPromises: Bool { handshake.grants.features.contains(.promises) }

    // MARK: The caller's side

    /// Writes a call as a promise, or queues it if there is no credit or room.
    ///
    /// - Throws: A `ConnectionError` if the peer does not know promises, has too many, or the connection is closed.
    mutating func sendPromise(
        _ message: OutboundMessage, _ waiter: consuming Waiter, _ host: Host
    ) throws -> SendOutcome<Ticket> {
        try checkOpen(message, host)
        guard knowsPromises else {
            throw ConnectionError(
                .notAvailable,
                "the other process does not know promises (bit 32 of the features in its Hello); await the result instead",
                context: message.name)
        }
        guard Int(questions.promises) < ProtocolLimits.keptAnswers else {
            throw ConnectionError(
                .overloaded, "more than \(ProtocolLimits.keptAnswers) promises are held; the call was not sent",
                context: message.name)
        }
        message.role = .promise
        return sendCall(message, questions.reservePromise(), waiter, host)
    }

    /// Writes the `Drop` frames for promises that this side no longer uses.
    mutating func dropPromises(_ promises: [Ticket]) {
        guard phase != .ended else { return }
        for promise in promises {
            if let number = questions.dropPromise(promise) { outbox.write(DropFrame(question: number)) }
        }
    }

    /// Drops a promise that was given up while its call waited to be written.
    mutating func dropIfUnwanted(_ promise: Ticket) {
        if questions.isUnwanted(promise) { dropPromises([promise]) }
    }

    // MARK: The answering side

    /// The answer that a call leaves for later messages; nil if the call leaves none.
    mutating func answerToKeep(_ question: UInt32, _ flags: CallFlags) -> KeptAnswer? {
        guard knowsPromises, flags.contains(.keepAnswer), !flags.contains(.oneWay) else { return nil }
        return KeptAnswer(question, isPromise: flags.contains(.promise))
    }

    /// Counts the answers that a message names as its target or among its arguments.
    mutating func noteAnswers(of call: InboundCall, _ target: KeptAnswer?) {
        if let target { answers.use(target, by: call.question) }
        if let tables = call.tables { answers.use(argumentsIn: tables, by: call.question) }
    }

    /// Stores the result of an ended call as the answer that later messages name.
    ///
    /// - Returns: Whether nothing else has to be done: the call of a promise is answered only when the peer drops the
    ///   promise.
    mutating func settle(
        _ call: InboundCall, _ question: UInt32, as outcome: KeptAnswer.Outcome?, _ host: Host,
        _ actions: inout [Action<Host>]
    ) -> Bool {
        guard let answer = answers.keptAnswer(question), let outcome else { return false }
        settle(answer, as: outcome, host)
        guard answer.isPromise, case .object = outcome else { return false }
        let (isKept, dropped) = answers.finish(question, keep: true)
        if !isKept { writeEmptyReturn(question) }
        if let dropped { discard(dropped, &actions) }
        return true
    }

    private mutating func settle(_ answer: KeptAnswer, as outcome: KeptAnswer.Outcome, _ host: Host) {
        switch outcome {
        case .object(let object):
            let export: Export
            if case .proxy = host.entry(of: object) {
                export = Export(
                    id: .none, object: object, messages: ClassMessages.passedOn, lastMention: 0, mailbox: Mailbox())
                answer.settle(.passedOn(export))
            } else {
                export = exports.keep(object, messages: ClassMessages.known(object))
                answer.settle(.object(export))
            }
            redirectMessages(to: answer, export)
        case .failed(let error):
            answer.settle(.failed(error))
            for call in answer.takeMessages() {
                call.fail(error)
                queue(call)
            }
        }
        for call in answer.takeDependents() { makeNextReady(of: call.export) }
    }

    /// Sends the messages to an answer to the object that the answer has turned out to be.
    private mutating func redirectMessages(to answer: KeptAnswer, _ export: Export) {
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
        makeNextReady(of: export)
    }

    mutating func receiveDrop(_ question: UInt32, _ actions: inout [Action<Host>]) throws(ProtocolViolation) {
        switch try answers.drop(question) {
        case .nothing, .answered(nil), .pending(nil): break
        case .answered(let answer?):
            if answer.isPromise, answer.object != nil { writeEmptyReturn(question) }
            discard(answer, &actions)
        case .pending(let answer?): if answer.isUnneeded { try cancel(question, &actions) }
        }
    }

    /// Releases an answer that the peer has dropped.
    mutating func discard(_ answer: KeptAnswer, _ actions: inout [Action<Host>]) {
        switch answer.state {
        case .object(let export):
            exports.unkeep(export)
            actions.append(.unexport(export))
        case .passedOn, .pending, .failed: actions.append(.release(answer))
        }
    }

    /// Answers the call of a promise that the peer has dropped.
    private mutating func writeEmptyReturn(_ question: UInt32) {
        let frame = ReturnFrame(.result, to: question)
        frame.append(to: &outbox)
        EmptyMessage.append(to: &outbox)
        answerFlow.add(outbox.count + ProtocolLimits.headers)
        outbox.finish(.return, flags: frame.status.rawValue)
    }
}
