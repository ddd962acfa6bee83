import KeyedArchive

// The tables of a message. The message's archive refers to the entries of the tables by index. The peer's tables are entered
// before the next frame.
extension Session {
    // MARK: Reading

    /// Reads the references and shapes of a message; `nil` if the message has none, like most messages.
    ///
    /// - Parameter answer: The answer of this side that a reference names. It throws if no answer may be among the references.
    mutating func readTables(
        _ reader: inout WireReader, _ host: Host, _ actions: inout [Action<Host>],
        answer: (UInt32) throws(ProtocolViolation) -> KeptAnswer = noAnswer
    ) throws(ProtocolViolation) -> MessageTables? {
        if reader.skipZeros(EmptyMessage.tables) { return nil }
        let (imports, blobs, incoming) = (references.importCount, memory.blobs?.held ?? 0, streams.incomingCount)
        var namesAnswers = false
        let objects = try readReferences(&reader, host) { (question) throws(ProtocolViolation) in
            let named = try answer(question)
            namesAnswers = true
            return named
        }
        let (shapes, unreadable) = try references.readShapes(&reader, limits: settings.limits.archive)
        // The references are released at once: a message that waits in a queue must not keep too many of them.
        let (importsNow, blobsNow) = (references.importCount, memory.blobs?.held ?? 0)
        if importsNow > limits.references && importsNow > imports
            || blobsNow > limits.references && blobsNow > blobs
        {
            actions.append(.release(MessageTables(references: objects)))
            let fault = ArchiveError(.limit, "more than \(limits.references) references are held on this connection")
            return MessageTables(references: [], fault: fault)
        }
        guard !objects.isEmpty || !shapes.isEmpty || unreadable != nil else { return nil }
        return MessageTables(
            references: objects, shapes: shapes, fault: unreadable, namesAnswers: namesAnswers,
            hasBlobs: blobsNow > blobs,
            made: importsNow - imports + blobsNow - blobs + streams.incomingCount - incoming)
    }

    private mutating func readReferences(
        _ reader: inout WireReader, _ host: Host, _ answer: (UInt32) throws(ProtocolViolation) -> KeptAnswer
    ) throws(ProtocolViolation) -> [AnyObject] {
        let count = try reader.count(minimum: Reference.smallest)
        guard count > 0 else { return [] }
        guard count <= ProtocolLimits.referencesInMessage else {
            throw ProtocolViolation(
                .overLimit, "a message carries more than \(ProtocolLimits.referencesInMessage) references")
        }
        var objects: [AnyObject] = []
        objects.reserveCapacity(count)
        for _ in 0..<count {
            switch try Reference(reading: &reader) {
            case .receivers(let id): objects.append(try references.export(id, host).object)
            case .senders(let id): objects.append(try references.proxy(id, host))
            case .described(let id):
                guard handshake.describesClasses else {
                    throw ProtocolViolation(
                        .unknownName, "the class of a reference was named without an agreement")
                }
                objects.append(try references.describedProxy(id, &reader, host))
            case .answer(let question): objects.append(try answer(question))
            case .stream(let number): objects.append(try enterStream(number, host))
            case .returnedStream(let number):
                try handshake.checkStreamsAgreed("a message names")
                objects.append(try streams.takeBack(number, &outbox))
            case .bytes(let region, let offset, let count):
                objects.append(SharedBlob(try memory.namedBlobs().mention(region, offset, count)))
            case .returnedBytes(let region, let offset, let count):
                objects.append(SharedBlob(try memory.namedBlobs().mentionBack(region, offset, count)))
            }
        }
        return objects
    }

    private mutating func enterStream(_ number: UInt64, _ host: Host) throws(ProtocolViolation) -> AnyObject {
        try handshake.checkStreamsAgreed("a message names")
        if let dead = DeadStream(rawValue: number) { return DeadStreamObject.of(dead) }
        let inbox = try streams.enter(number) { host.mayBeWritten($0) }
        if !isOpen { streams.stopReading(inbox, Streams.closing, &outbox) }
        return host.makeStreamReader(inbox)
    }

    // MARK: Writing

    /// Writes the reference table and the shapes of a message.
    ///
    /// - Parameter promise: The number of a question of this side, whose answer is among the references. Only calls and one-way
    ///   messages have such references.
    mutating func writeTables(
        of encoder: ObjectEncoder, _ host: Host, promise: (Ticket) -> UInt32? = { _ in nil }
    ) {
        guard encoder.hasTables else {
            outbox.append(byte: 0)
            outbox.append(byte: 0)
            return
        }
        outbox.append(encoder.externalCount)
        var classBytes = handshake.describesClasses ? ProtocolLimits.descriptionBytes : 0
        encoder.forEachExternal { object in
            switch host.entry(of: object) {
            case .proxy(.object(let id)): Reference.receivers(id).append(to: &outbox)
            case .proxy(.answer(let ticket)):
                let reference = promise(ticket).map { Reference.answer($0) }
                (reference ?? DeadStream.used.reference).append(to: &outbox)
            case .stream(let inbox):
                streams.passBack(inbox, in: outbox.written + 1, isOpen: phase == .open).append(to: &outbox)
            // `checkOwners` has refused a message with such an object before.
            case .foreign: DeadStream.used.reference.append(to: &outbox)
            case .own:
                if let entry = streams.reference(to: object, isOpen: phase == .open, limit: limits.streams)
                    ?? memory.reference(to: object)
                {
                    entry.append(to: &outbox)
                } else {
                    references.writeMention(of: object, &classBytes, &outbox)
                }
            }
        }
        references.writeShapes(of: encoder, &outbox)
    }
}

/// No answer may be among the references of a message.
private func noAnswer(_ question: UInt32) throws(ProtocolViolation) -> KeptAnswer {
    throw ProtocolViolation(.malformed, "a reference belongs to neither side")
}
