import KeyedArchive

// The tables of a message. The message's archive refers to the entries of the tables by index. The tables are entered
// before the next frame.
extension Conversation {
    /// Reads the references and shapes of a message; `nil` if the message has none, like most messages.
    ///
    /// - Parameter namesAnswers: Whether answers of this side may be among the references.
    mutating func readTables(
        _ reader: inout WireReader, _ host: Host, _ actions: inout [Action<Host>], namesAnswers: Bool = false
    ) throws(ProtocolViolation) -> MessageTables? {
        if reader.skipZeros(EmptyMessage.tables) { return nil }
        let before = (importCount, blobs?.held ?? 0)
        let streamsBefore = streams.incomingCount
        var hasAnswers = namesAnswers
        let references = try readReferences(&reader, host, &hasAnswers)
        let (shapes, unreadable) = try readShapes(&reader)
        // The references are released at once: a message that waits in a queue must not keep too many of them.
        let held = blobs?.held ?? 0
        if importCount > limits.references && importCount > before.0
            || held > limits.references && held > before.1
        {
            actions.append(.release(MessageTables(references: references)))
            let fault = ArchiveError(.limit, "more than \(limits.references) references are held on this connection")
            return MessageTables(references: [], fault: fault)
        }
        guard !references.isEmpty || !shapes.isEmpty || unreadable != nil else { return nil }
        return MessageTables(
            references: references, shapes: shapes, fault: unreadable, namesAnswers: hasAnswers,
            hasBlobs: held > before.1,
            made: importCount - before.0 + held - before.1 + streams.incomingCount - streamsBefore)
    }

    private mutating func readReferences(
        _ reader: inout WireReader, _ host: Host, _ namesAnswers: inout Bool
    ) throws(ProtocolViolation) -> [AnyObject] {
        let mayNameAnswers = namesAnswers
        namesAnswers = false
        let count = try reader.count(minimum: Reference.smallest)
        guard count > 0 else { return [] }
        guard count <= ProtocolLimits.referencesInMessage else {
            throw ProtocolViolation(
                .overLimit, "a message carries more than \(ProtocolLimits.referencesInMessage) references")
        }
        var references: [AnyObject] = []
        references.reserveCapacity(count)
        for _ in 0..<count {
            switch try Reference(reading: &reader) {
            case .receivers(let id): references.append(try export(id, host).object)
            case .senders(let id): references.append(try proxy(id, host))
            case .described(let id):
                guard describesClasses, id != .rootDirectory else {
                    throw ProtocolViolation(
                        .unknownName, "the class of a reference was named without an agreement")
                }
                references.append(try proxy(id, of: try readClass(&reader), host))
            case .answer(let question):
                guard mayNameAnswers else {
                    throw ProtocolViolation(.malformed, "a reference belongs to neither side")
                }
                references.append(try answers.namedAnswer(question))
                namesAnswers = true
            case .stream(let number): references.append(try enterStream(number, host))
            case .returnedStream(let number):
                try checkStreamsAgreed("a message names")
                references.append(try streams.takeBack(number, &outbox))
            case .bytes(let region, let offset, let count):
                references.append(SharedBlob(try namedBlobs().mention(region, offset, count)))
            case .returnedBytes(let region, let offset, let count):
                references.append(SharedBlob(try namedBlobs().mentionBack(region, offset, count)))
            }
        }
        return references
    }

    /// The proxy for an object of the peer.
    @inline(__always)
    private mutating func proxy(
        _ id: ObjectID, of described: DescribedClass? = nil, _ host: Host
    ) throws(ProtocolViolation) -> Proxy {
        if id.slot == ObjectID.rootDirectory.slot {
            // The root directory is known from the start and never released, so it has no table entry.
            guard id == .rootDirectory else {
                throw ProtocolViolation(.outOfStep, "the root directory was named by another generation")
            }
            // All mentions share one proxy, because a message may name the root directory some thousand times.
            return imports.rootProxy { host.makeProxy(for: id, of: nil) }
        }
        let proxy = try imports.proxy(for: id) { host.makeProxy(for: id, of: described) }
        if let described { Host.describe(proxy, as: described) }
        return proxy
    }

    /// The object of this side that the peer names.
    @inline(__always)
    mutating func export(_ id: ObjectID, _ host: Host) throws(ProtocolViolation) -> Export {
        // The table is read without an accessor: an accessor that is not inlined allocates its coroutine frame.
        if let known = serving.read({ $0.exports[id] }) ?? nil { return known }
        return try exportRoots(id, host)
    }

    /// The root directory is exported when the peer first names it: many peers never do.
    @inline(never)
    private mutating func exportRoots(_ id: ObjectID, _ host: Host) throws(ProtocolViolation) -> Export {
        if id.slot == ObjectID.rootDirectory.slot, !exports.hasRoots {
            let roots = host.rootDirectory
            exports.exportRoots(roots.object, messages: roots.messages)
        }
        return try exports.resolve(id)
    }

    private mutating func readClass(_ reader: inout WireReader) throws(ProtocolViolation) -> DescribedClass {
        switch try ClassEntry(reading: &reader) {
        case .known(let number): return try classesIn[number]
        case .new(let definition):
            let described = DescribedClass.of(definition)
            try classesIn.append(described, taking: definition.count)
            return described
        }
    }

    private mutating func readShapes(
        _ reader: inout WireReader
    ) throws(ProtocolViolation) -> (shapes: PackedShapes, fault: ArchiveError?) {
        if reader.skipZeros(1) { return (.none, nil) }
        return try PackedShapes.enter(&reader, shapeTables.received(limits.archive))
    }
}
