extension PortState {
    /// What is left when a connection ends: all of it is answered, cancelled or let go outside the lock.
    struct Remains {
        var questions: [Question]
        var pending: [PendingCommit]
        var exports: [Export]
        var calls: [InboundCall]
        var partials: [PartialMessage]
        var serving: [RunningCall]
        var resting: ServingTask?
        var pings: [UnsafeContinuation<Void, any Error>]
        var peerGoodbye: (entered: UInt64, reason: GoodbyeReason?, text: String)?
        var violation: String?
    }

    /// The last transition: every table is empty after it.
    mutating func end() -> Remains {
        phase = .ended
        let (freed, waiting) = exports.removeAll()
        let remains = Remains(
            questions: questions.removeAll(), pending: pending.removeAll(), exports: freed,
            calls: ready.removeAll() + waiting,
            partials: Array(partials.values), serving: answers.removeAll(), resting: resting.take(),
            pings: takeControls(), peerGoodbye: peerGoodbye, violation: violation)
        partials = [:]
        imports.removeAll()
        waitingBytes.end()
        return remains
    }
}
