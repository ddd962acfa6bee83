// Messages whose signature is known: what a peer of an earlier version lacks is told as that.
extension RemoteMessage {
    /// Why the object does not answer the message, if that is known.
    func obstacle(to signature: SignatureRecord) -> String? {
        guard signature.mayBeMissing else { return nil }
        return place.described?.obstacle(to: signature)
    }

    /// - Throws: `ConnectionError.notAvailable` if the object is known not to answer the message.
    @usableFromInline
    func check(_ signature: SignatureRecord) throws {
        if let obstacle = obstacle(to: signature) { throw signature.notAvailable(obstacle) }
    }

    @usableFromInline
    @inline(__always)
    func result<Result: Codable>(
        of message: consuming OutboundMessage, as signature: SignatureRecord
    ) async throws -> Result {
        do { return try await result(of: message) } catch { throw signature.explained(error) }
    }

    @usableFromInline
    func completion(of message: consuming OutboundMessage, as signature: SignatureRecord) async throws {
        do { try await completion(of: message) } catch { throw signature.explained(error) }
    }

    @usableFromInline
    func blockingResult<Result: Codable>(
        of message: consuming OutboundMessage, as signature: SignatureRecord
    ) throws -> Result {
        do { return try blockingResult(of: message) } catch { throw signature.explained(error) }
    }

    @usableFromInline
    func blockingCompletion(of message: consuming OutboundMessage, as signature: SignatureRecord) throws {
        do { try blockingCompletion(of: message) } catch { throw signature.explained(error) }
    }
}

extension SignatureRecord {
    /// Whether a peer may do without it.
    @usableFromInline var mayBeMissing: Bool { version != nil }

    fileprivate func notAvailable(_ reason: String, _ underlying: (any Error)? = nil) -> ConnectionError {
        ConnectionError(
            .notAvailable,
            "the other process is of a version before \(version ?? 0) of the interface: \(reason)", context: name,
            underlying: underlying)
    }

    /// A peer that does not describe its classes refuses what it does not know.
    fileprivate func explained(_ error: any Error) -> any Error {
        guard mayBeMissing, let refusal = error as? ConnectionError, refusal.code == .noSuchMessage else {
            return error
        }
        return notAvailable(refusal.message, refusal)
    }
}
