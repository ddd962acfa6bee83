import KeyedArchive
import PortTransport

/// The outcome of an attempt to send a message.
enum SendOutcome<Value: Sendable>: Sendable {
    case written(Value)
    /// The message waits for credit or room.
    case waiting(Value)
    case failed(any Error)
}

// Sending messages. Each transition assigns ids, writes watermarks and completes the frame in one step.
//
// Functions that only read are `mutating`, too: otherwise the compiler copies the whole state first.
extension Conversation {
    /// Asks a question: writes the call, or queues it if there is no credit or room.
    ///
    /// - Parameter scope: The scope that the question belongs to; see `QuestionTable.isOpen(_:in:)`.
    @inline(__always)
    mutating func sendCall(
        _ message: OutboundMessage, in scope: ObjectIdentifier?, _ waiter: consuming Waiter, _ host: Host
    ) -> SendOutcome<Ticket> {
        do { try checkOpen(message, host) } catch { return .failed(error) }
        return sendCall(message, questions.reserve(in: scope), waiter, host)
    }

    /// Writes the call of a reserved question, or queues it if there is no credit or room.
    mutating func sendCall(
        _ message: OutboundMessage, _ ticket: Ticket, _ waiter: consuming Waiter, _ host: Host
    ) -> SendOutcome<Ticket> {
        guard mayWrite(message, isOneWay: false, host) else {
            // The peer's call has given its room in the window back, so that the window does not bound the calls that
            // wait here.
            if message.role == .passedOn, pending.bytesPassedOn > 0,
                pending.bytesPassedOn + message.encoder.byteCount > limits.waitingBytes
            {
                questions.finish(ticket.index)
                return .failed(
                    ConnectionError(
                        .overloaded,
                        "more than \(limits.waitingBytes) bytes of calls that are sent back wait for room",
                        context: message.name))
            }
            wait(message, .call(ticket, waiter), oneWay: false, host)
            return .waiting(ticket)
        }
        writeCall(message, ticket, waiter, host)
        return .written(ticket)
    }

    /// Checks that a reserved question can be written; otherwise frees its slot.
    ///
    /// - Throws: `CancellationError` if the caller has given up; a `ConnectionError` if the connection is closed.
    mutating func checkReserved(_ ticket: Ticket) throws {
        guard questions.phase(of: ticket) == .reserved else {
            // The caller has given up since it reserved the question.
            if questions.phase(of: ticket) == .withdrawn { questions.finish(ticket.index) }
            throw CancellationError()
        }
        if let whyClosed {
            questions.finish(ticket.index)
            throw whyClosed
        }
    }

    /// Fails a call whose caller stops waiting.
    ///
    /// A call that was written keeps its question until the peer's `Return` comes.
    mutating func giveUp(_ ticket: Ticket, _ error: any Error, _ actions: inout [Action<Host>]) {
        switch questions.phase(of: ticket) {
        case .reserved:
            guard
                let waiting = pending.removeFirst(where: {
                    if case .call(let other, _) = $0.kind { return other == ticket }
                    return false
                }), case .call(_, let waiter) = waiting.kind
            else {
                // The caller is about to send the call, and will see the withdrawal.
                return questions.withdraw(ticket)
            }
            if let timer = questions.finish(ticket.index).timer { actions.append(.cancelTimer(timer)) }
            actions.append(.recycle(waiting.message))
            actions.append(.fail(waiter, error))
        case .sent:
            guard let given = questions.abandon(ticket) else { return }
            outbox.write(CancelFrame(question: given.wire))
            actions.append(.fail(given.waiter, error))
            actions.append(.abort(given.number))
            if phase == .closing { actions.append(.closeIfIdle) }
            if let timer = given.timer { actions.append(.cancelTimer(timer)) }
        case .free, .withdrawn, .abandoned, .answered, nil: break
        }
    }

    // MARK: Writing

    mutating func writeCall(
        _ message: OutboundMessage, _ ticket: Ticket, _ waiter: consuming Waiter, _ host: Host
    ) {
        giveBackBlobs()
        outbox.append(questions.assignNumber(to: ticket))
        credit.use(isOneWay: false)
        writeMessage(message, message.isPromise ? [.keepAnswer, .promise] : [], host)
        questions.wrote(ticket, number: sent, waiter: waiter)
        if message.isPromise { dropIfUnwanted(ticket) }
    }

    @inline(__always)
    mutating func writeMessage(_ message: OutboundMessage, _ kind: CallFlags, _ host: Host) {
        var flags = kind
        if let answer = message.answer {
            flags.insert(.toAnswer)
            CallFrame.append(.answer(questions.number(of: answer)), to: &outbox)
        } else {
            CallFrame.append(.object(message.target), to: &outbox)
        }
        CallFrame.append(message.name, namesOut.reference(to: message.name), to: &outbox)
        if let deadline = message.deadline {
            flags.insert(.deadline)
            outbox.append(deadline.microseconds(at: host.now))
        }
        if let metadata = message.metadata, handshake.grants.features.contains(.metadata) {
            flags.insert(.metadata)
            CallFrame.append(metadata: metadata, to: &outbox)
        }
        outbox.append(message.argumentCount)
        writeTables(of: message.encoder, host)
        outbox.finish(.call, flags: flags.rawValue, with: message.encoder)
    }
}
