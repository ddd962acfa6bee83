import KeyedArchive
import PortTransport
import Synchronization

// Messages whose sender does not wait for an answer: one-way messages, and promises.
extension Connection {
    /// Sends a one-way message, and waits while there is no room for it.
    ///
    /// - Parameter limit: How long to wait; `nil` for no limit.
    func sendOneWay(_ message: OutboundMessage, within limit: Duration? = nil) async throws {
        if try offerOneWay(message) { return }
        try await sendOneWayLater(message, limit)
    }

    /// Waits for room, then sends the message.
    ///
    /// It runs on the task's executor, because `checkMayWait` looks for the task's scope there.
    @concurrent
    func sendOneWayLater(_ message: OutboundMessage, _ limit: Duration?) async throws {
        try checkMayWait(message)
        let place = OneWayPlace()
        let name = message.name
        let timer = limit.map { limit in
            loop.addTimer(after: limit) { self.withdrawOneWay(place, self.noRoom(within: limit, name)) }
        }
        defer { if let timer { loop.cancelTimer(timer) } }
        try await withTaskCancellationHandler {
            try await withUnsafeThrowingContinuation { continuation in
                queueOneWay(message, place, .task(continuation))
            }
        } onCancel: {
            withdrawOneWay(place, CancellationError())
        }
    }

    /// Checks that the caller does not serve a one-way message of this connection.
    ///
    /// Room comes when one-way messages end. If their methods waited for room, both sides could wait for each other.
    func checkMayWait(_ message: OutboundMessage) throws {
        guard state.withLock({ $0.session.credit.separatesOneWays }), let scope = ThreadTasks.current?.pointee.scope,
            scope._withUnsafeGuaranteedRef({ $0.connection === self && $0.servesOneWay })
        else { return }
        let name = message.name
        coder.recycle(message)
        throw ConnectionError(
            .overloaded,
            "no room for a one-way message, and a method that serves one does not wait for it: call, or send it from a task of its own",
            context: name)
    }

    func noRoom(within limit: Duration, _ message: String) -> ConnectionError {
        ConnectionError(
            .deadlineExceeded, "there was no room for the message within \(limit); it was not sent",
            context: "\(message) over \(name)")
    }

    /// Sends a one-way message, and blocks the calling thread while there is no room for it.
    func sendOneWayBlocking(_ message: OutboundMessage, within limit: Duration? = nil) throws {
        try checkMayBlock(message)
        if try offerOneWay(message) { return }
        let name = message.name
        let call = BlockingCall()
        let place = OneWayPlace()
        queueOneWay(message, place, .thread(call))
        try wait(for: call, until: limit.map { Deadline(after: $0, at: now) }) { deadline in
            let error = self.noRoom(within: deadline.limit, name)
            withdrawOneWay(place, error)
            return error
        }
        _ = try call.get()
    }

    /// Sends a one-way message if there is room for it.
    ///
    /// - Parameter reportsLosses: Whether to throw if messages sent earlier are lost.
    /// - Returns: Whether the message was sent.
    func offerOneWay(_ message: OutboundMessage, reportsLosses: Bool = true) throws -> Bool {
        let outcome = state.withLock { $0.offerOneWay(message, self, reportsLosses: reportsLosses) }
        switch outcome {
        case .written:
            coder.recycle(message)
            channel.setNeedsFlush()
            return true
        case .waiting:
            return false
        case .failed(let error):
            coder.recycle(message)
            throw error
        }
    }

    /// Sends a one-way message, or queues it until there is room.
    ///
    /// Completes the waiter once the message is written.
    func queueOneWay(_ message: OutboundMessage, _ place: OneWayPlace, _ waiter: VoidWaiter) {
        let outcome = state.withLock { $0.sendOneWay(message, place, waiter, self) }
        switch outcome {
        case .written:
            coder.recycle(message)
            channel.setNeedsFlush()
            waiter.resume(on: channel)
        case .failed(let error):
            coder.recycle(message)
            waiter.resume(error, on: channel)
        case .waiting:
            break
        }
    }

    /// Removes a one-way message from the queue, because its sender stops waiting.
    func withdrawOneWay(_ place: OneWayPlace, _ error: any Error) {
        transition { state, actions in state.questions.withdrawOneWay(place, error, &actions) }
    }
}

// Sending promises. Passing messages on that the peer has sent to a promise whose object turned out to be the peer's
// own.
extension Connection {
    /// Sends a call whose answer is wanted only as the target or an argument of later messages.
    ///
    /// The connection owns the message from now on.
    ///
    /// - Returns: A proxy for the answer.
    func sendPromise(_ message: consuming OutboundMessage) throws -> DistantObject {
        let outcome = state.withLock { state -> SendOutcome<Ticket> in
            do { return try state.sendPromise(message, .promise, self) } catch { return .failed(error) }
        }
        switch outcome {
        case .written(let ticket):
            coder.recycle(message)
            channel.setNeedsFlush()
            return DistantObject(promised: .answer(ticket), on: self)
        case .waiting(let ticket):
            return DistantObject(promised: .answer(ticket), on: self)
        case .failed(let error):
            coder.recycle(message)
            throw error
        }
    }

    /// The same message as a call of the peer, for an object of the peer.
    func message(passingOn call: InboundCall) throws -> OutboundMessage {
        guard let proxy = call.export.object as? DistantObject, let (body, _) = call.body.bytes else {
            throw call.lostArguments
        }
        let message = try proxy.place.takeMessage()
        message.role = .passedOn
        message.name = call.message.name
        message.argumentCount = call.argumentCount
        message.deadline = call.deadline.map { Deadline(at: $0, now: now) }
        message.metadata = call.metadata.map { CallContext(serving: $0, until: nil).encoded }
        try message.encoder.load(
            archive: body.bytes, externals: call.tables?.references ?? [], shapes: call.tables?.shapes.read() ?? [])
        return message
    }

    /// Makes an answer of the peer the answer to another call.
    ///
    /// A refusal is the peer's word on the call that it got, and does not hold for the other call. So it is passed on as an error
    /// of the method.
    ///
    /// - Parameters:
    ///   - message: The name of the message that the peer has answered.
    ///   - answer: Gets the result.
    ///   - copier: Makes the result anew, which then need not be as it came; nil if it is not known how.
    ///   - isSentBack: Whether the message was the peer's own. Then a refusal is passed on, as the answer of the peer to itself.
    /// - Throws: `PassedError` or `MethodFailure` if the message has failed. `ResultFailure` if the result cannot be passed on.
    func pass(
        _ reply: Reply, of message: String, into answer: OutboundMessage, _ copier: ResultCopier?,
        isSentBack: Bool = false
    ) throws {
        defer { if reply.largeBytes > 0 { consumed(largeBytes: reply.largeBytes) } }
        guard reply.status == .result else {
            throw failure(reply, of: message, for: answer, isSentBack: isSentBack)
        }
        // A result of no bytes is a result without a value.
        if reply.body.bytes.isEmpty { return }
        do {
            if let fault = reply.tables?.fault { throw fault }
            guard let references = try references(of: reply, for: answer.encoder) else {
                guard let copier else { throw ConnectionError.foreign(message) }
                return try copier.copy(reply, coder, answer.encoder)
            }
            try answer.encoder.load(
                archive: reply.body.bytes, externals: references, shapes: reply.tables?.shapes.read() ?? [])
        } catch {
            throw ResultFailure(underlying: error)
        }
    }

    /// The references of an answer for another message.
    ///
    /// - Returns: Nil if a stream or shared bytes have to be sent anew, because the receiver of the other message does not know
    ///   them.
    /// - Throws: `ConnectionError.foreignReference` if the answer has an object of the peer, which the receiver cannot name.
    private func references(of reply: Reply, for encoder: ObjectEncoder) throws -> [AnyObject]? {
        let owner = encoder.codingOwner
        var isKnown = true
        let references = try (reply.tables?.references ?? []).map { reference in
            switch reference {
            case let proxy as DistantObject:
                if case .object(let object) = try proxy._external(for: owner) { return object }
            case let blob as SharedBlob:
                if case .bytes = blob.bytes._externalBytes(for: owner) { isKnown = false }
            default:
                if owner !== coder, case .stream = entry(of: reference) { isKnown = false }
            }
            return reference
        }
        return isKnown ? references : nil
    }

    /// The failure of a call whose method has answered with a message that has failed.
    private func failure(
        _ reply: Reply, of message: String, for answer: OutboundMessage, isSentBack: Bool
    ) -> any Error {
        let error = coder.error(in: reply, from: message)
        // What cannot be passed on as it is, is sent like an error that the method throws.
        guard reply.status == .thrown || isSentBack && !reply.saysThatPeerCloses, reply.tables?.fault == nil,
            let references = try? references(of: reply, for: answer.encoder)
        else { return MethodFailure.from(error) }
        return PassedError(reply, error, references)
    }

    /// What the answer to a call stands for in later messages.
    ///
    /// - Parameters:
    ///   - message: The encoded result.
    ///   - failure: Why there is none.
    func answerToKeep(
        of call: InboundCall, _ message: OutboundMessage, _ failure: (any Error)?
    ) -> KeptAnswer.Outcome {
        if let failure { return .failed(coder.cause(failure, of: call.message.qualifiedName)) }
        switch message.encoder.soleValue {
        case .external(let object) where isObject(object): return .object(object)
        case .nothing: return .failed(ConnectionError.noObject(call.message.qualifiedName, isNil: true))
        case .external, .other: return .failed(ConnectionError.noObject(call.message.qualifiedName, isNil: false))
        }
    }

    /// Whether an entry of a table of references is an object, and not a stream or bytes.
    private func isObject(_ object: AnyObject) -> Bool {
        switch entry(of: object) {
        case .proxy: true
        case .own: !(object is SharedBlob || object is StreamSource || object is DeadStreamObject)
        case .stream, .foreign: false
        }
    }
}

extension ConnectionError {
    /// The error of messages to a result that is not an object.
    static func noObject(_ message: String, isNil: Bool) -> ConnectionError {
        ConnectionError(
            .noObject, isNil ? "the result is nil" : "only a result that is one object by reference can be promised",
            context: message)
    }
}
