// Messages whose signature is known: a message that an older peer lacks is reported as `notAvailable`.
extension RemoteMessage {
    /// Why the object does not answer the message, if that is known.
    func obstacle(to signature: SignatureRecord) -> String? {
        guard signature.mayBeMissing else { return nil }
        return place.described?.obstacle(to: signature)
    }

    /// - Throws: `ConnectionError.notAvailable` if the object is known not to answer the message.
    @usableFromInline
    func prepare(_ signature: SignatureRecord) throws {
        if let obstacle = obstacle(to: signature) { throw signature.notAvailable(obstacle) }
        if let errors = signature.errors { place.heldConnection?.coder.learn(errors) }
    }

    /// Encodes the arguments, unless the peer is known to lack the message.
    @inlinable
    @inline(__always)
    func encoded<each Argument: Codable>(
        _ argument: repeat each Argument, timeout: Duration?, as signature: SignatureRecord
    ) throws -> OutboundMessage {
        if signature.needsPreparation { try prepare(signature) }
        return try encoded(repeat each argument, timeout: timeout)
    }

    @usableFromInline
    @inline(__always)
    func result<Result: Codable>(
        of message: consuming OutboundMessage, checking signature: SignatureRecord
    ) async throws -> Result {
        do { return try await result(of: message, as: signature) } catch { throw explained(error, signature) }
    }

    @usableFromInline
    func completion(of message: consuming OutboundMessage, checking signature: SignatureRecord) async throws {
        do { try await completion(of: message, as: signature) } catch { throw explained(error, signature) }
    }

    @usableFromInline
    func blockingResult<Result: Codable>(
        of message: consuming OutboundMessage, checking signature: SignatureRecord
    ) throws -> Result {
        do { return try blockingResult(of: message, as: signature) } catch { throw explained(error, signature) }
    }

    @usableFromInline
    func blockingCompletion(of message: consuming OutboundMessage, checking signature: SignatureRecord) throws {
        do { try blockingCompletion(of: message, as: signature) } catch { throw explained(error, signature) }
    }

    /// Explains the refusal of a peer that does not describe its classes and does not know the message.
    private func explained(_ error: any Error, _ signature: SignatureRecord) -> any Error {
        guard signature.mayBeMissing, place.connection != nil, let refusal = error as? ConnectionError,
            refusal.code == .noSuchMessage
        else { return error }
        return signature.notAvailable(refusal.message, refusal)
    }
}

extension SignatureRecord {
    /// Whether a peer may do without it.
    var mayBeMissing: Bool { version != nil }

    /// Whether more has to be done before it is sent than to encode the arguments.
    @usableFromInline var needsPreparation: Bool { version != nil || errors != nil }

    fileprivate func notAvailable(_ reason: String, _ underlying: (any Error)? = nil) -> ConnectionError {
        ConnectionError(
            .notAvailable,
            "the other process does not answer version \(version ?? 0) of the interface: \(reason)", context: name,
            underlying: underlying)
    }
}

extension MessagePlace {
    @usableFromInline
    func message(_ signature: SignatureRecord) -> RemoteMessage { RemoteMessage(place: self, name: signature.name) }
}
