import KeyedArchive
import PortTransport
import Synchronization

/// The state of a connection under its lock, with what else the lock protects.
///
/// Frames that a transition has written go to the channel before the lock is given up.
struct LockedState: ~Copyable, Sendable {
    struct Content: ~Copyable {
        var port: PortState<Connection>
        /// What the frames that were delivered since the last turn want done.
        var delivered = Actions<Connection>()
        /// Frames were written while others were delivered, and nobody has flushed them.
        var owesFlush = false
        var rest = RestingTask()
    }

    private let content: Mutex<Content>
    private let channel: Channel

    init(_ settings: PortSettings, _ channel: Channel) {
        content = Mutex(Content(port: PortState(settings)))
        self.channel = channel
    }

    /// Runs a transition.
    @inline(__always)
    func withLock<Result: ~Copyable, Failure: Error>(
        _ body: (inout PortState<Connection>) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        try withContent { (content) throws(Failure) in try body(&content.port) }
    }

    /// As `withLock`, with all that the lock protects.
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
    /// Hands the frames that were written to the channel.
    @inline(__always)
    mutating func send(over channel: Channel) {
        if !port.outbox.isEmpty { sendAll(over: channel) }
    }

    @inline(never)
    private mutating func sendAll(over channel: Channel) {
        port.outbox.empty { channel.enqueue($0, $1, $2) }
    }

    /// Enters what the channel delivers; what that wants done waits for the end of the turn.
    @inline(__always)
    mutating func deliver<Result>(
        _ body: (inout PortState<Connection>, inout Actions<Connection>) throws(ProtocolViolation) -> Result
    ) throws(ProtocolViolation) -> Result {
        let sent = port.sent
        do throws(ProtocolViolation) {
            let result = try body(&port, &delivered)
            if port.sent != sent { owesFlush = true }
            return result
        } catch {
            port.fail(error)
            throw error
        }
    }

    /// Whether frames were written since so many were, or while others were delivered, that nobody has flushed.
    mutating func takeOwedFlush(since count: UInt64) -> Bool {
        defer { owesFlush = false }
        return owesFlush || port.sent != count
    }

    /// Nothing has to follow from the frames of the last read.
    var isSettled: Bool { delivered.isEmpty && !owesFlush && port.isSettled }

    /// The answer that the task of a scope waits for, if it is there and no call that came with it starts first.
    mutating func takeAnswer(for scope: Unmanaged<CallScope>) -> Result<Reply, any Error>? {
        if !port.hasStartable, let reply = delivered.takeAnswer(where: { $0.isScope(scope) }) {
            return .success(reply)
        }
        return scope._withUnsafeGuaranteedRef { $0.takeAnswer() }
    }
}

/// A task that has served a call and waits for another.
///
/// One is enough for calls that follow one another, and more would be memory that idle connections keep; so would be one
/// after the few calls by which connections begin.
struct RestingTask {
    /// How many calls tasks have to serve before one may rest.
    private static let callsBefore = 4

    private var task: ServingTask?
    private var served = 0

    var mayRest: Bool { task == nil && served > Self.callsBefore }

    mutating func keep(_ task: ServingTask) { self.task = task }

    /// The task that rests, for a call to be served by one.
    mutating func takeToServe() -> ServingTask? {
        served += 1
        return task.take()
    }

    /// The task that rests, to be ended.
    mutating func take() -> ServingTask? { task.take() }
}

extension Channel {
    /// Adds a frame of the state's.
    @inline(__always)
    fileprivate func enqueue(_ frame: Outbox.Frame, _ bytes: UnsafeRawBufferPointer, _ descriptors: [CInt]) {
        let kind = frame.kind.rawValue
        switch frame.form {
        case .whole:
            _ = enqueue(kind: kind, flags: frame.flags, prefix: bytes)
        case .withValues:
            _ = frame.encoder?._withUnsafeGuaranteedRef { encoder in
                enqueue(kind: kind, flags: frame.flags, prefix: bytes, body: encoder.plainValues)
            }
        case .withFragments, .withDescriptors, .lastOnSocket, .last:
            enqueueRare(frame, bytes, descriptors)
        }
    }

    @inline(never)
    private func enqueueRare(_ frame: Outbox.Frame, _ bytes: UnsafeRawBufferPointer, _ descriptors: [CInt]) {
        let kind = frame.kind.rawValue
        switch frame.form {
        case .whole, .withValues: break
        case .withFragments:
            let segments = frame.encoder?.takeUnretainedValue().takeSegments() ?? []
            _ = enqueue(
                kind: kind, flags: frame.flags, prefix: bytes,
                segments: segments.map { OutboundSegment(owner: $0.owner, bytes: $0.bytes) })
        case .withDescriptors:
            enqueuePath(kind: kind, flags: frame.flags, prefix: bytes, descriptors: descriptors)
        case .lastOnSocket:
            enqueueLast(kind: kind, flags: frame.flags, prefix: bytes)
        case .last:
            _ = enqueue(kind: kind, flags: frame.flags, prefix: bytes)
            // What others write from here on comes too late.
            enqueueNoMore()
        }
    }
}
