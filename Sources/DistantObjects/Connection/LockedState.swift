import KeyedArchive
import PortTransport
import Synchronization

/// The state of a connection, and everything else that its lock protects.
///
/// Frames that a transition has written are passed to the channel before the lock is released.
struct LockedState: ~Copyable, Sendable {
    struct Content: ~Copyable {
        var conversation: Conversation<Connection>
        /// The actions of the frames received in this read.
        var delivered = Actions<Connection>()
        var rest = RestingTask()
        var callers = CallingTasks()
        /// Whether frames were written during this read that are not flushed.
        var owesFlush = false
    }

    private let content: Mutex<Content>
    private let channel: Channel

    init(_ settings: ConversationSettings, _ channel: Channel) {
        content = Mutex(Content(conversation: Conversation(settings)))
        self.channel = channel
    }

    /// Runs a transition.
    @inline(__always)
    func withLock<Result: ~Copyable, Failure: Error>(
        _ body: (inout Conversation<Connection>) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        try withContent { (content) throws(Failure) in try body(&content.conversation) }
    }

    /// Runs a closure with everything that the lock protects.
    @inline(__always)
    func withContent<Result: ~Copyable, Failure: Error>(
        _ body: (inout Content) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        try content.withLock { (content) throws(Failure) in
            defer { content.send(over: channel) }
            return try body(&content)
        }
    }
}

extension LockedState.Content {
    /// Passes the written frames to the channel.
    @inline(__always)
    mutating func send(over channel: Channel) {
        if !conversation.session.outbox.isEmpty { sendAll(over: channel) }
    }

    @inline(never)
    private mutating func sendAll(over channel: Channel) {
        // These are loops of this function, because a closure would retain the channel.
        if let frame = conversation.session.outbox.first { conversation.session.outbox.send(frame, over: channel) }
        if !conversation.session.outbox.others.isEmpty {
            for frame in conversation.session.outbox.others { conversation.session.outbox.send(frame, over: channel) }
        }
        conversation.session.outbox.removeAll()
    }

    /// Enters input from the channel.
    ///
    /// Its actions wait for the end of the read.
    @inline(__always)
    mutating func deliver<Result>(
        _ body: (inout Conversation<Connection>, inout Actions<Connection>) throws(ProtocolViolation) -> Result
    ) throws(ProtocolViolation) -> Result {
        let sent = conversation.sent
        do throws(ProtocolViolation) {
            let result = try body(&conversation, &delivered)
            if conversation.sent != sent { owesFlush = true }
            return result
        } catch {
            conversation.session.fail(error)
            throw error
        }
    }

    /// Whether a flush is due: frames were written during the read, or since the given count.
    mutating func takeOwedFlush(since count: UInt64) -> Bool {
        defer { owesFlush = false }
        return owesFlush || conversation.sent != count
    }

    /// Whether the frames of the last read leave no work.
    var isSettled: Bool { delivered.isEmpty && !owesFlush && conversation.isSettled }

    /// Takes the answer for the task of a scope, if it has arrived and no call that came with it has to start first.
    mutating func takeAnswer(for scope: Unmanaged<CallScope>) -> Result<Reply, any Error>? {
        if !conversation.serving.hasStartable, let reply = delivered.takeAnswer(where: { $0.isScope(scope) }) {
            return .success(reply)
        }
        return scope._withUnsafeGuaranteedRef { $0.takeAnswer() }
    }
}

/// A task that has served a call and waits for the next one.
///
/// There is at most one, which is enough for calls that follow one another; more would be memory that idle connections keep.
/// For the same reason there is none until a few calls have been served.
struct RestingTask {
    /// The number of calls that have to be served before a task may rest.
    ///
    /// Without it the look-up of the root, with which each connection begins, leaves a task of 1.6 KB behind: see the row
    /// `idle-connection` of `distant-bench`, and its budget in `AllocationTests`.
    private static let callsBefore: UInt8 = 4

    private var task: ServingTask?
    private var served: UInt8 = 0

    var mayRest: Bool { task == nil && served > Self.callsBefore }

    mutating func keep(_ task: ServingTask) { self.task = task }

    /// Takes the resting task, to serve a call.
    mutating func takeToServe() -> ServingTask? {
        if served <= Self.callsBefore { served += 1 }
        return task.take()
    }

    /// Takes the resting task, to end it.
    mutating func take() -> ServingTask? { task.take() }
}

extension Outbox {
    /// Passes a frame to the channel.
    @inline(__always)
    fileprivate func send(_ frame: Frame, over channel: Channel) {
        let kind = frame.kind.rawValue
        let bytes = bytes(of: frame)
        switch frame.form {
        case .whole:
            _ = channel.enqueue(kind: kind, flags: frame.flags, prefix: bytes)
        case .withValues:
            _ = frame.encoder?._withUnsafeGuaranteedRef { encoder in
                channel.enqueue(kind: kind, flags: frame.flags, prefix: bytes, body: encoder.plainValues)
            }
        case .withFragments, .withDescriptors, .lastOnSocket, .last:
            sendRare(frame, bytes, over: channel)
        }
    }

    @inline(never)
    private func sendRare(_ frame: Frame, _ bytes: UnsafeRawBufferPointer, over channel: Channel) {
        let kind = frame.kind.rawValue
        switch frame.form {
        case .whole, .withValues: break
        case .withFragments:
            let segments = frame.encoder?.takeUnretainedValue().takeSegments() ?? []
            _ = channel.enqueue(
                kind: kind, flags: frame.flags, prefix: bytes,
                segments: segments.map { OutboundSegment(owner: $0.owner, bytes: $0.bytes) })
        case .withDescriptors:
            channel.enqueueSharedMemory(kind: kind, flags: frame.flags, prefix: bytes, descriptors: descriptors)
        case .lastOnSocket:
            channel.enqueueLast(kind: kind, flags: frame.flags, prefix: bytes)
        case .last:
            _ = channel.enqueue(kind: kind, flags: frame.flags, prefix: bytes)
            // Frames that other threads write from now on are dropped.
            channel.enqueueNoMore()
        }
    }
}
