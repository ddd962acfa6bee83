import KeyedArchive
import PortTransport

/// What the two halves of a conversation share: the frames that wait to be sent, what messages may refer to, and how far the
/// conversation has come.
///
/// `Questions`, the caller's half, and `Serving`, the owner's half, write and read their messages with it.
struct Session<Host: ConversationHost>: ~Copyable {
    let settings: ConversationSettings
    var outbox = Outbox()
    /// The number of the last frame that this side has entered: the *watermark* that it sends to the peer.
    var entered: UInt64 = 0

    var life = Life()
    var handshake = Handshake()
    var credit: Credit
    var references = References<Host>()
    var streams = Streams()
    var memory: SharedMemory
    var pings = Pings()
    var large = LargeMessages()

    init(_ settings: ConversationSettings) {
        self.settings = settings
        credit = Credit(queuedCalls: settings.limits.queuedCalls)
        memory = SharedMemory(
            isPossible: settings.sharesMemoryWhen != nil, mostBlobBytes: settings.limits.sharedBytes)
    }

    var limits: ConnectionLimits {
        @inline(__always) _read { yield settings.limits }
    }

    var phase: Life.Phase {
        @inline(__always) get { life.phase }
    }

    // MARK: Open or not

    /// Whether messages may be sent.
    ///
    /// Functions that only read are `mutating`, too: otherwise the compiler copies the whole state first.
    var isOpen: Bool {
        @inline(__always) mutating get { life.isOpen && !outbox.isClosed }
    }

    /// Why no message may be sent now; `nil` if it may.
    var whyClosed: ConnectionError? {
        mutating get { isOpen ? nil : closedError() }
    }

    mutating func closedError() -> ConnectionError {
        switch phase {
        case .open where !outbox.isClosed:
            ConnectionError(.closed, "the peer is closing the connection; the call was not sent")
        case .handshake:
            ConnectionError(.closed, "the connection is not open yet")
        case .closing:
            ConnectionError(.closed, "the connection is closing; the call was not sent")
        case .open, .ending, .ended:
            ConnectionError(
                .closed, "\(life.verdict?.description ?? "the connection has ended"); the call was not sent")
        }
    }

    /// Whether the connection takes no more messages because it has ended or is ending.
    var isEnded: Bool {
        switch phase {
        case .handshake: false
        case .open: outbox.isClosed || life.peerSaidGoodbye || life.peerIsClosing
        case .closing, .ending, .ended: true
        }
    }

    // MARK: Hello and Goodbye

    /// Writes this side's `Hello`.
    ///
    /// - Parameter sharesMemory: Whether the channel supports shared memory.
    mutating func writeHello(isInitiator: Bool, sharesMemory: Bool) {
        if !sharesMemory { memory.giveUp() }
        var features = Features.all
        if memory.isImpossible { features.subtract(.ofSharedMemory) }
        if isInitiator { features.insert(.initiator) }
        outbox.write(
            HelloFrame(
                features, queuedCalls: limits.queuedCalls, runningCalls: limits.runningCalls, message: limits.message,
                settings.program))
    }

    mutating func writeGoodbye(_ reason: GoodbyeReason, _ text: String) {
        guard !outbox.isClosed else { return }
        outbox.write(GoodbyeFrame(entered: entered, reason, text))
    }

    /// Ends the connection because the peer broke a rule.
    ///
    /// The Goodbye names that rule.
    mutating func fail(_ violation: ProtocolViolation) {
        life.violation = violation.message
        writeGoodbye(violation.reason, violation.message)
    }

    /// Enters the peer's `Goodbye`.
    mutating func receive(
        _ frame: GoodbyeFrame, _ actions: inout [Action<Host>]
    ) throws(ProtocolViolation) -> DeliveryStep {
        guard frame.entered <= outbox.written else {
            throw ProtocolViolation(.unknownName, "a Goodbye names a frame that was never sent")
        }
        guard !life.peerSaidGoodbye else { throw ProtocolViolation(.outOfStep, "a second Goodbye") }
        life.peerGoodbye = frame
        actions.append(.peerSaidGoodbye)
        // The peer sends no more frames, but reads on until its calls are answered.
        return frame.reason == .closed ? .outliveInput : .none
    }
}
