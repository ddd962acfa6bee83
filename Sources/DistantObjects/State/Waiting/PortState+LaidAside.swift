import KeyedArchive
@_spi(Queues) import PortTransport

// The window for large messages, while complete ones wait for something that a later message brings.
extension PortState {
    /// If a large message is on its way, gives credit back early for complete large messages that wait.
    ///
    /// These messages keep at most `ConnectionLimits.waitingBytes` bytes, or one message. Beyond that, calls are
    /// refused and streams end.
    @inline(__always)
    mutating func makeRoom(_ actions: inout [Action<Host>]) {
        if !partials.isEmpty, !laidAside.isEmpty { layAside(&actions) }
    }

    @inline(never)
    private mutating func layAside(_ actions: inout [Action<Host>]) {
        let messages = laidAside.messages
        var kept = messages.reduce(0) { $1.place == .laidAside ? $0 + ($1.bytes?.bytes.count ?? 0) : $0 }
        for message in messages where message.place == .waiting && waitsForOthers(message) {
            guard let count = message.bytes?.bytes.count else { continue }
            let largeBytes = message.takeLargeBytes()
            // The reader may just have finished it.
            guard largeBytes > 0 else { continue }
            giveBack(largeBytes, &actions)
            if kept == 0 || kept + count <= limits.waitingBytes {
                message.place = .laidAside
                kept += count
            } else {
                refuse(message, &actions)
            }
        }
    }

    /// Whether a complete message waits for more than the start of the messages before it.
    private func waitsForOthers(_ message: PartialMessage) -> Bool {
        switch message.purpose {
        case .call(let export):
            KeptAnswer.isPending(export) || export.mailbox.waitsForAnswers
        case .stream(let stream): (stream as? StreamInbox)?.reading != .done
        case .reply: false
        }
    }

    private mutating func refuse(_ message: PartialMessage, _ actions: inout [Action<Host>]) {
        switch message.purpose {
        case .call: message.refuse()
        case .stream(let stream):
            guard let inbox = stream as? StreamInbox else { return }
            let error = ConnectionError(
                .overloaded,
                "items that are not read take more than \(limits.waitingBytes) bytes, and other messages wait for their room",
                context: "the stream")
            stopReading(inbox, error, &actions)
        case .reply: break
        }
    }

    /// Gives bytes of the window back to the peer.
    func giveBack(_ largeBytes: Int, _ actions: inout [Action<Host>]) {
        guard largeBytes > 0 else { return }
        actions.append(.discard(Reply(status: .result, body: .empty, largeBytes: largeBytes, tables: nil)))
    }
}
