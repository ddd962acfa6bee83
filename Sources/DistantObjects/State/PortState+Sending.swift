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
extension PortState {
    /// Whether messages may be sent.
    var isOpen: Bool {
        @inline(__always) mutating get { phase == .open && !outbox.isClosed && !ending.peerSaidGoodbye }
    }

    /// Why no message may be sent now; `nil` if it may.
    private var whyClosed: ConnectionError? {
        mutating get { isOpen ? nil : closedError() }
    }

    private mutating func closedError() -> ConnectionError {
        switch phase {
        case .open where !outbox.isClosed:
            ConnectionError(.closed, "the peer is closing the connection; the call was not sent")
        case .handshake:
            ConnectionError(.closed, "the connection is not open yet")
        case .closing:
            ConnectionError(.closed, "the connection is closing; the call was not sent")
        case .open, .ending, .ended:
            ConnectionError(.closed, "the connection has ended; the call was not sent")
        }
    }

    mutating func checkOpen(_ message: OutboundMessage, _ host: Host) throws {
        if !isOpen { throw ConnectionError(.closed, closedError().message, context: message.name) }
        if message.mayBeTooLarge { try checkSize(of: message, host) }
    }

    // MARK: Calls

    /// Asks a question: writes the call, or queues it if there is no credit or room.
    ///
    /// - Parameter scope: What the question belongs to; see `QuestionTable.isOpen(_:in:)`.
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
            // The room that it took in the window is given back, so that it must not wait for long.
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

    /// Checks that a reserved question can be written; else frees its slot.
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
                // The caller is about to send it, and will see the withdrawal.
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

    // MARK: One-way messages

    /// Writes a one-way message if there is credit and room.
    mutating func offerOneWay(_ message: OutboundMessage, _ host: Host) -> Bool {
        guard mayWrite(message, isOneWay: true, host) else { return false }
        writeOneWay(message, host)
        return true
    }

    /// Writes a one-way message, or queues it if there is no credit or room.
    mutating func sendOneWay(
        _ message: OutboundMessage, _ place: OneWayPlace, _ waiter: RoomWaiter, _ host: Host
    ) -> SendOutcome<Void> {
        if let whyClosed { return .failed(whyClosed) }
        if let withdrawal = place.withdrawal { return .failed(withdrawal) }
        if offerOneWay(message, host) { return .written(()) }
        wait(message, .oneWay(place, waiter), oneWay: credit.separatesOneWays, host)
        return .waiting(())
    }

    /// Removes a one-way message from the queue because its sender stops waiting.
    mutating func withdrawOneWay(_ place: OneWayPlace, _ error: any Error, _ actions: inout [Action<Host>]) {
        place.withdrawal = error
        let withdrawn = pending.removeFirst {
            if case .oneWay(let other, _) = $0.kind { return other === place }
            return false
        }
        guard let withdrawn, case .oneWay(_, let waiter) = withdrawn.kind else { return }
        actions.append(.recycle(withdrawn.message))
        actions.append(.oneWay(waiter, error))
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

    mutating func writeOneWay(_ message: OutboundMessage, _ host: Host) {
        credit.use(isOneWay: true)
        writeMessage(message, .oneWay, host)
        oneWays.sent(sent, underWay: credit.oneWaysUnderWay(handshake.grants))
    }

    @inline(__always)
    private mutating func writeMessage(_ message: OutboundMessage, _ kind: CallFlags, _ host: Host) {
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

    /// Writes the reference table and the shapes of a message.
    ///
    /// This is the only place that assigns ids to objects and numbers to shapes.
    mutating func writeTables(of encoder: ObjectEncoder, _ host: Host) {
        guard encoder.hasTables else {
            outbox.append(byte: 0)
            outbox.append(byte: 0)
            return
        }
        outbox.append(encoder.externalCount)
        var classBytes = describesClasses ? ProtocolLimits.descriptionBytes : 0
        encoder.forEachExternal { object in
            switch host.entry(of: object) {
            case .proxy(.object(let id)): Reference.receivers(id).append(to: &outbox)
            case .proxy(.answer(let ticket)): Reference.answer(questions.number(of: ticket)).append(to: &outbox)
            case .stream(let inbox): writeStreamBack(inbox)
            // `checkOwners` has refused the message before.
            case .foreign: writeDead(.used)
            case .own where writeStream(object) || writeBlob(object): break
            case .own: writeMention(of: object, &classBytes)
            }
        }
        outbox.append(encoder.shapeCount)
        encoder.forEachShape { shape in
            switch shapeTables.sent.reference(to: shape, taking: shape.definition.count) {
            case .known(let number):
                outbox.append(UInt64(number) + 2)
            case .new:
                outbox.append(byte: 0)
                outbox.append(definition: shape.definition)
            case .inline:
                outbox.append(byte: 1)
                outbox.append(definition: shape.definition)
            }
        }
    }

    /// Writes a mention of an object of this process, with its class if there is room for that.
    ///
    /// - Parameter classBytes: What the classes of this message may still take.
    private mutating func writeMention(of object: AnyObject, _ classBytes: inout Int) {
        let messages = ClassMessages.known(object)
        let id = exports.mention(object, messages: messages, number: sent + 1)
        // The peer has known the root directory from the start.
        let mayHaveClass = classBytes > 0 && id != .rootDirectory
        let naming = mayHaveClass ? classReference(messages, within: classBytes) : .inline
        if case .inline = naming { return Reference.senders(id).append(to: &outbox) }
        Reference.described(id).append(to: &outbox)
        let idEnd = outbox.count
        if case .known(let number) = naming {
            ClassEntry.append(known: number, to: &outbox)
        } else {
            messages._withUnsafeGuaranteedRef {
                ClassEntry.append(new: $0.described?.definition ?? [], to: &outbox)
            }
        }
        classBytes -= outbox.count - idEnd
    }

    /// How a class is named in a table of references: by its number, or with its description; `.inline` if it is not named.
    private mutating func classReference(
        _ messages: Unmanaged<ClassMessages>, within room: Int
    ) -> Naming {
        guard room > 10 else { return .inline }
        let key = UnsafeRawPointer(messages.toOpaque())
        // The size is asked for only where the class is new. A class that has no room gets no number either.
        return classesOut.reference(
            to: key, taking: messages._withUnsafeGuaranteedRef { $0.described?.definition.count ?? .max },
            within: room - 10)
    }

    /// Returns the credit of a large message that was decoded.
    mutating func writeLargeMessageCredit(_ byteCount: Int) {
        outbox.write(CreditFrame.largeMessages(bytes: UInt64(byteCount)))
    }

    /// Writes Release frames for objects of the peer that this side no longer refers to.
    mutating func writeReleases(_ dead: DyingReferences) {
        guard phase != .ended, let first = dead.first else { return }
        if dead.rest.isEmpty {
            if imports.releaseOne(first) { writeRelease(of: CollectionOfOne(first)) }
            return
        }
        var rest = ([first] + dead.rest)[...]
        while !rest.isEmpty {
            let chunk = rest.prefix(ProtocolLimits.referencesInMessage)
            rest = rest.dropFirst(chunk.count)
            let released = chunk.filter { imports.releaseOne($0) }
            if !released.isEmpty { writeRelease(of: released) }
        }
    }

    /// Writes the `Release` of some objects.
    ///
    /// The watermark and the ids of a frame belong together: no frame is entered between reading the two.
    private mutating func writeRelease(of objects: some Collection<ObjectID>) {
        ReleaseFrame.append(entered: entered, objects, to: &outbox)
        outbox.finish(.release)
    }

    // MARK: Sizes

    private mutating func checkStreams(of message: OutboundMessage) throws {
        let fresh = message.encoder.externals.count { $0 is StreamSource }
        guard fresh == 0 || streams.outgoingCount + fresh <= limits.streams else {
            throw ConnectionError(
                .overloaded,
                "the peer has \(streams.outgoingCount) open streams of this process; more than \(limits.streams) are not allowed",
                context: message.name)
        }
    }

    /// Checks that the peer knows what the message refers to.
    ///
    /// The types that are sent by reference check this while they are encoded. This holds whatever they do.
    private mutating func checkOwners(of message: OutboundMessage, _ host: Host) throws {
        for object in message.encoder.externals {
            switch host.entry(of: object) {
            case .foreign: throw ConnectionError.foreign(message.name)
            case .own:
                if let bytes = (object as? SharedBlob)?.bytes, !mayMention(bytes) {
                    throw ConnectionError.foreign(message.name)
                }
            case .proxy, .stream: break
            }
        }
    }

    /// Checks that the header and tables fit in an opener, and the whole message in the peer's limit, and that the peer
    /// knows what the message refers to.
    mutating func checkSize(of message: OutboundMessage, _ host: Host) throws {
        let encoder = message.encoder
        if encoder.externalCount > 0 { try checkOwners(of: message, host) }
        guard message.name.utf8.count <= ProtocolLimits.nameBytes else {
            throw ConnectionError(
                .noSuchMessage, "the name of a message has at most \(ProtocolLimits.nameBytes) bytes",
                context: message.name.cut(toBytes: 64))
        }
        guard encoder.externalCount <= ProtocolLimits.referencesInMessage else {
            throw ConnectionError(
                .tooLarge,
                "a message carries at most \(ProtocolLimits.referencesInMessage) references, this one has \(encoder.externalCount)",
                context: message.name)
        }
        if streams.outgoingCount + encoder.externalCount > limits.streams { try checkStreams(of: message) }
        // One is the connection's own.
        if exportCount + encoder.externalCount >= limits.exports {
            let fresh = encoder.externals.count { object in
                if case .own = host.entry(of: object) { !exports.contains(object) } else { false }
            }
            guard exportCount + fresh < limits.exports else {
                throw ConnectionError(
                    .overloaded,
                    "the peer refers to \(exportCount) objects of this process; more than \(limits.exports - 1) are not allowed",
                    context: message.name)
            }
        }
        // A mention of a blob takes more than one of an object.
        var tables = message.name.utf8.count + encoder.externalCount * (blobs == nil ? 11 : 20)
        encoder.forEachShape { tables += $0.definition.count + 5 }
        guard encoder.shapeCount <= ProtocolLimits.shapesInMessage, tables <= ProtocolLimits.openerBytes else {
            throw ConnectionError(
                .tooLarge, "the classes of this message have too many and too long keys for one message",
                context: message.name)
        }
        guard UInt64(encoder.byteCount) <= handshake.grants.message else {
            throw ConnectionError(
                .tooLarge,
                "the message has \(encoder.byteCount) bytes; the peer takes at most \(handshake.grants.message)",
                context: message.name)
        }
    }
}
