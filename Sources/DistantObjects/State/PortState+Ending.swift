extension PortState {
    /// What waits for the peer when nothing more comes from it; all of it fails, outside the lock.
    struct Unanswered {
        var questions: [Question]
        var pending: [PendingCommit]
        var controls: [UnsafeContinuation<Void, any Error>]
        /// How many frames the peer took, if its Goodbye says so.
        var entered: UInt64?
    }

    /// What is left when a connection ends, to be let go outside the lock.
    final class Remains: @unchecked Sendable {
        // Made in one critical section, owned by one thread after it.
        let exports: [Export]
        let calls: [InboundCall]
        let partials: [PartialMessage]

        init(exports: [Export], calls: [InboundCall], partials: [PartialMessage]) {
            self.exports = exports
            self.calls = calls
            self.partials = partials
        }
    }

    /// The last transition but one: no call is sent after it, and none is answered.
    mutating func endCalls(_ end: ConnectionEnd) -> Unanswered {
        phase = .ending
        verdict = end
        return Unanswered(
            questions: questions.removeAll(), pending: pending.removeAll(), controls: takeControls(),
            entered: peerGoodbye?.entered)
    }

    /// The last transition: every table is empty after it.
    ///
    /// - Returns: What the connection alone still held, and the calls that tasks serve, to be cancelled.
    mutating func end() -> (remains: Remains, serving: [RunningCall], resting: ServingTask?) {
        phase = .ended
        let (freed, waiting) = exports.removeAll()
        let remains = Remains(
            exports: freed, calls: ready.removeAll() + waiting, partials: Array(partials.values))
        partials = [:]
        imports.removeAll()
        waitingBytes.end()
        return (remains, answers.removeAll(), resting.take())
    }
}
