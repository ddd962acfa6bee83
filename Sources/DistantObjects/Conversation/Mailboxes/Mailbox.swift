@_spi(Queues) import PortTransport

/// The messages to one object that have not started.
///
/// Read and written under the connection's lock.
final class Mailbox: @unchecked Sendable {
    /// Whether a message to the object is ready, or has started and its first job has not returned.
    @exclusivity(unchecked) var isBusy = false
    /// Whether the object has no id, but messages to it wait or it is a kept answer.
    ///
    /// If the object is exported later, it gets this mailbox, so that new messages queue behind those that wait.
    @exclusivity(unchecked) var isLingering = false
    /// The number of kept answers that are the object, which may not be exported.
    @exclusivity(unchecked) var answers: Int32 = 0
    /// The messages that are not ready yet, in the order of their openers.
    @exclusivity(unchecked) var waiting = Ring<InboundCall>()

    /// Adds messages that came earlier than some that wait, each at the place of its opener.
    func merge(_ messages: [InboundCall]) {
        guard !messages.isEmpty else { return }
        for call in (waiting.removeAll() + messages).sorted(by: { $0.number < $1.number }) { waiting.append(call) }
    }

    /// Calls `body` with each message that waits.
    func forEachWaiting(_ body: (InboundCall) -> Void) { for index in 0..<waiting.count { body(waiting[index]) } }

    /// Whether a message waits that has answers as arguments, which may not be known.
    var waitsForAnswers: Bool { (0..<waiting.count).contains { waiting[$0].namesAnswers } }

    var isIdle: Bool { !isBusy && waiting.isEmpty }
    /// Whether the mailbox has messages or may get some, even if the object is not exported.
    var isNeeded: Bool { !isIdle || answers > 0 }
}
