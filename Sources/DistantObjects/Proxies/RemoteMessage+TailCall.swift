import KeyedArchive

extension RemoteMessage {
    /// The message as the answer of a method of this process; see ``TailCall``.
    ///
    /// - Parameters:
    ///   - argument: The arguments, encoded now.
    ///   - result: The type of the result, if the compiler cannot tell.
    @inlinable
    public func tailCall<each Argument: Codable, Result>(
        _ argument: repeat each Argument, returning result: Result.Type = Result.self
    ) -> TailCall<Result> {
        do {
            return tail(try encoded(repeat each argument, timeout: nil))
        } catch {
            return TailCall { _, _ in throw error }
        }
    }

    @usableFromInline
    func tail<Result>(_ message: OutboundMessage) -> TailCall<Result> {
        TailCall { answer, copier in
            let connection = try place.sending()
            defer { withExtendedLifetime(place) {} }
            let reply = try await reply(to: message, over: connection)
            try connection._withUnsafeGuaranteedRef { try $0.pass(reply, of: name, into: answer, copier) }
        }
    }
}
