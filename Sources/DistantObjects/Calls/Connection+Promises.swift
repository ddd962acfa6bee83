import KeyedArchive
import PortTransport

// Sending promises, and passing messages on that were sent to a promise that is an object of their sender.
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
            throw ArgumentFailure(underlying: ConnectionError(.cancelled, "the caller gave up while it was sending"))
        }
        let message = proxy.place.takeMessage()
        message.name = call.message.name
        message.argumentCount = call.argumentCount
        message.deadline = call.deadline.map { Deadline(at: $0) }
        try message.encoder.load(
            archive: body.bytes, externals: call.tables?.references ?? [], shapes: call.tables?.shapes ?? [])
        return message
    }

    /// The same answer as one of the peer, for a call of the peer.
    func answer(passingOn reply: Reply) throws -> OutboundMessage {
        defer { if reply.bulk > 0 { consumed(bulk: reply.bulk) } }
        if let fault = reply.tables?.fault { throw ResultFailure(underlying: fault) }
        let message = coder.takeMessage()
        message.status = reply.status
        // A result of no bytes is a result without a value.
        if reply.body.bytes.isEmpty { return message }
        try message.encoder.load(
            archive: reply.body.bytes, externals: reply.tables?.references ?? [], shapes: reply.tables?.shapes ?? [])
        return message
    }

    /// What later messages find under the answer to a call.
    ///
    /// - Parameters:
    ///   - message: The encoded result.
    ///   - failure: Why there is none.
    func answerToKeep(
        of call: InboundCall, _ message: OutboundMessage, _ failure: (any Error)?
    ) -> KeptAnswer.Outcome {
        if let failure { return .failed(coder.cause(failure, of: call.message.qualifiedName)) }
        switch message.encoder.soleValue {
        case .external(let object): return .object(object)
        case .nothing: return .failed(ConnectionError.noObject(call.message.qualifiedName, isNil: true))
        case .other: return .failed(ConnectionError.noObject(call.message.qualifiedName, isNil: false))
        }
    }
}

extension ConnectionError {
    /// The failure of messages to a result that is no object.
    static func noObject(_ message: String, isNil: Bool) -> ConnectionError {
        ConnectionError(
            .noObject, isNil ? "the result is nil" : "only a result that is one object by reference can be promised",
            context: message)
    }
}
