import KeyedArchive
@_spi(Queues) import PortTransport

// Calls of the peer. Each is entered, becomes ready once the earlier messages to its object have started, starts, and
// is answered.
extension Conversation {
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
        // After this side's Goodbye no call is answered: the Goodbye's watermark tells the peer that this call was not
        // delivered. The references of the call are entered and then released, as for any message.
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
            deadline: header.deadline(host.now), metadata: metadata, epoch: pings.enterCall(),
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
        // The arguments of waiting calls are copied into shared blocks, so that the calls do not keep whole read
        // buffers.
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

    /// Checks that a whole message, or the opener of a message in fragments, has the right size.
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

    /// Makes the next message to an object ready if no other message is being started, its bytes have arrived, and the
    /// answers among its arguments are known.
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
}
