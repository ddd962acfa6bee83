import KeyedArchive
import PortTransport

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
        let message = proxy.place.takeMessage()
        message.role = .passedOn
        message.name = call.message.name
        message.argumentCount = call.argumentCount
        message.deadline = call.deadline.map { Deadline(at: $0, now: now) }
        message.metadata = call.metadata.map { CallContext(serving: $0, until: nil).encoded }
        try message.encoder.load(
            archive: body.bytes, externals: call.tables?.references ?? [], shapes: call.tables?.shapes ?? [])
        return message
    }

    /// Makes an answer of the peer the answer to another call.
    ///
    /// - Throws: `ResultFailure` if it has references and the call came from another process.
    func pass(_ reply: Reply, into answer: OutboundMessage) throws {
        defer { if reply.largeBytes > 0 { consumed(largeBytes: reply.largeBytes) } }
        if reply.status != .result, answer.encoder.isDriven(by: PortCoder.local) {
            throw coder.error(in: reply, from: name)
        }
        answer.status = reply.status
        // A result of no bytes is a result without a value.
        if reply.body.bytes.isEmpty { return }
        do {
            if let fault = reply.tables?.fault { throw fault }
            let references = try (reply.tables?.references ?? []).map { reference in
                if let blob = reference as? SharedBlob { return try passed(blob, into: answer) }
                guard let proxy = reference as? DistantObject,
                    case .object(let object) = try proxy.external(for: answer.encoder.codingOwner)
                else { return reference }
                return object
            }
            try answer.encoder.load(
                archive: reply.body.bytes, externals: references, shapes: reply.tables?.shapes ?? [])
        } catch {
            throw ResultFailure(underlying: error)
        }
    }

    /// Bytes of a region for the other answer.
    ///
    /// - Throws: `ConnectionError.foreignReference` if the other answer goes to another process, which does not know
    ///   the region.
    private func passed(_ blob: SharedBlob, into answer: OutboundMessage) throws -> AnyObject {
        guard case .place = blob.bytes.externalBytes(for: answer.encoder.codingOwner) else {
            throw ConnectionError(
                .foreignReference, "shared bytes cannot be passed on to another process as an answer; make a copy")
        }
        return blob
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
        case .external(let object) where !(object is SharedBlob): return .object(object)
        case .nothing: return .failed(ConnectionError.noObject(call.message.qualifiedName, isNil: true))
        case .external, .other: return .failed(ConnectionError.noObject(call.message.qualifiedName, isNil: false))
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
