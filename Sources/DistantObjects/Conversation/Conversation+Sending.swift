import KeyedArchive
import PortTransport

/// The outcome of an attempt to write items of a stream.
enum ItemsOutcome {
    /// The items are written. The value is the number of items that may follow now.
    case written(Int)
    /// The channel is full. The conversation notifies the producer when the channel has room.
    case noRoom
    /// The items are not sent, for this reason: the producer has to stop.
    case stopped(ConnectionError)
}

// The messages of this side.
extension Conversation {
    // MARK: Calls

    /// Asks a question: writes the call, or queues it if there is no credit or room.
    @inline(__always)
    mutating func sendCall(
        _ message: OutboundMessage, in scope: ObjectIdentifier?, _ waiter: consuming Host.Waiter, _ host: Host
    ) -> SendOutcome<Ticket> {
        questions.send(message, in: scope, waiter, &session, host)
    }

    /// Writes the call of a question that `reserve(_:_:)` has reserved, or queues it if there is no credit or room.
    mutating func sendReserved(
        _ message: OutboundMessage, _ ticket: Ticket, _ waiter: consuming Host.Waiter, _ host: Host
    ) -> SendOutcome<Ticket> {
        do { try questions.checkReserved(ticket, &session) } catch { return .failed(error) }
        return questions.send(message, ticket, waiter, &session, host)
    }

    /// Reserves a question for a call.
    mutating func reserve(_ message: OutboundMessage, _ host: Host) throws -> Ticket {
        try session.checkOpen(message, host)
        return questions.table.reserve()
    }

    mutating func sendPromise(
        _ message: OutboundMessage, _ waiter: consuming Host.Waiter, _ host: Host
    ) throws -> SendOutcome<Ticket> {
        try questions.sendPromise(message, waiter, &session, host)
    }

    mutating func giveUp(_ ticket: Ticket, _ error: any Error, _ actions: inout [Action<Host>]) {
        questions.giveUp(ticket, error, &session, &actions)
    }

    /// Writes a one-way message if there is credit and room.
    ///
    /// - Parameter reportsLosses: Whether it fails if one-way messages before it were lost and not reported.
    mutating func offerOneWay(
        _ message: OutboundMessage, _ host: Host, reportsLosses: Bool
    ) -> SendOutcome<Void> {
        do { try session.checkOpen(message, host) } catch { return .failed(error) }
        if reportsLosses, questions.hasLosses, let loss = questions.oneWays.takeLosses() { return .failed(loss) }
        return questions.offerOneWay(message, &session, host) ? .written(()) : .waiting(())
    }

    mutating func sendOneWay(
        _ message: OutboundMessage, _ place: OneWayPlace, _ waiter: Host.RoomWaiter, _ host: Host
    ) -> SendOutcome<Void> {
        questions.sendOneWay(message, place, waiter, &session, host)
    }

    mutating func writeNextPending(_ host: Host, _ actions: inout [Action<Host>]) -> Bool {
        questions.writeNextPending(&session, host, &actions)
    }

    // MARK: Answers

    @inline(__always)
    mutating func startCall(_ host: Host, _ actions: inout [Action<Host>]) -> InboundCall? {
        serving.startCall(&session, host, &actions)
    }

    mutating func answer(
        _ call: InboundCall, with message: OutboundMessage, _ status: ReturnStatus, keeping kept: KeptAnswer.Outcome?,
        _ host: Host, _ actions: inout [Action<Host>]
    ) -> AnswerOutcome {
        serving.answer(call, with: message, status, keeping: kept, &session, host, &actions)
    }

    @inline(__always)
    mutating func oneWayEnded(_ call: InboundCall, _ host: Host, _ actions: inout [Action<Host>]) -> Bool {
        serving.oneWayEnded(call, &session, host, &actions)
    }

    mutating func oneWayFailed(
        _ call: InboundCall, _ failure: ConnectionError, _ host: Host, _ actions: inout [Action<Host>]
    ) -> Bool {
        serving.oneWayFailed(call, failure, &session, host, &actions)
    }

    mutating func firstJobReturned(_ call: InboundCall) { serving.firstJobReturned(call, &session) }

    /// Writes credit that was held back, and checks again whether the peer reads its answers.
    ///
    /// This comes before the check for calls that may start.
    @inline(__always)
    mutating func lookAtAnswers(_ host: Host, _ actions: inout [Action<Host>]) {
        serving.writeHeldCredit(&session, host, &actions)
        serving.lookAtAnswers(host, &actions)
    }

    mutating func answersTick(_ host: Host, _ actions: inout [Action<Host>]) -> Bool {
        serving.answersTick(&session, host, &actions)
    }

    // MARK: What is no longer used

    /// Writes the frames that say which objects and promises this side no longer uses.
    mutating func release(_ dead: DyingReferences) {
        guard phase != .ended else { return }
        session.references.writeReleases(of: dead, entered: session.entered, &session.outbox)
        if !dead.promises.isEmpty { questions.dropPromises(dead.promises, &session) }
    }

    /// Returns the credit of a large message that was decoded.
    mutating func writeLargeMessageCredit(_ byteCount: Int) {
        session.outbox.write(CreditFrame.largeMessages(bytes: UInt64(byteCount)))
    }

    // MARK: Streams

    /// Writes items, which are within the stream's allowance.
    mutating func writeItems(
        _ count: Int, in message: OutboundMessage, of stream: StreamOutbox, _ host: Host, evenIfFull: Bool = false
    ) -> ItemsOutcome {
        if let stop = stream.stop { return .stopped(stop) }
        guard evenIfFull || !isFull(for: message, host) else {
            session.streams.awaitRoom(stream)
            return .noRoom
        }
        ItemFrame(count, of: UInt32(stream.number)).append(to: &session.outbox)
        session.writeTables(of: message.encoder, host)
        stream.use(items: count, bytes: session.outbox.count + message.encoder.byteCount)
        session.outbox.finish(.item, flags: 0, with: message.encoder)
        return .written(stream.allowance)
    }

    private func isFull(for message: OutboundMessage, _ host: Host) -> Bool {
        host.isQueueFull || message.isLarge && !host.hasRoom(forLargeMessage: message.encoder.byteCount)
    }

    /// Writes the End of a stream whose task has ended, with its final value or the error that it threw.
    mutating func endStream(
        _ stream: StreamOutbox, _ status: ReturnStatus, with message: OutboundMessage, _ host: Host,
        _ actions: inout [Action<Host>]
    ) {
        guard stream.life.isRunning else { return }
        guard !stream.life.readerHasEnded else {
            return session.streams.end(stream, .init(.cancelled, ""), &session.outbox, &actions)
        }
        let frame = EndFrame.producer(UInt32(stream.number), status)
        frame.append(to: &session.outbox)
        session.writeTables(of: message.encoder, host)
        session.streams.ended(stream, &actions)
        session.outbox.finish(.end, flags: frame.flags, with: message.encoder)
    }

    // MARK: Blobs

    /// Finds room for a blob of this side.
    mutating func takeBlob(
        _ count: Int, isCopy: Bool = false, _ host: Host, _ actions: inout [Action<Host>]
    ) -> BlobPlace {
        guard session.isOpen else { return .memory }
        return session.memory.takeBlob(count, isCopy: isCopy, session.handshake.grants, &session.outbox, host, &actions)
    }

    /// Settles all blobs that this process no longer uses.
    mutating func settleBlobs(_ actions: inout [Action<Host>]) {
        guard phase != .ended else { return }
        session.memory.settleBlobs(&session.outbox, &actions)
    }

    /// Releases the regions that were not used since the last call.
    mutating func releaseIdleBlobs(_ actions: inout [Action<Host>]) {
        guard phase != .ended else { return }
        session.memory.releaseIdleBlobs(&session.outbox, &actions)
    }

    /// Enters the offer of a region.
    ///
    /// - Returns: The most bytes that the region may have to be taken.
    mutating func blobWasOffered(_ host: Host) throws(ProtocolViolation) -> Int {
        try session.memory.blobWasOffered(session.handshake.grants, host)
    }

    /// Answers the offer of a region.
    ///
    /// - Parameter memory: The region; nil if this side does not take it.
    mutating func answerBlob(_ memory: RegionMemory?) { session.memory.answerBlob(memory, &session.outbox) }

    // MARK: Shared memory

    mutating func askForMemory() { session.memory.ask(&session.outbox) }

    mutating func memoryWasMade(_ descriptors: [CInt]?) { session.memory.wasMade(descriptors, &session.outbox) }

    mutating func memoryWasTaken(_ outcome: MemoryOutcome) {
        session.memory.wasTaken(outcome, session.handshake.grants, &session.outbox)
    }
}
