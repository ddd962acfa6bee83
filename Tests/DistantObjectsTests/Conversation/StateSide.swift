import KeyedArchive

@testable import DistantObjects
@testable import PortTransport

/// A proxy for an object of the other side.
final class StateProxy: _ByReferenceCodable, Sendable {
    let target: ProxyTarget
    fileprivate let dead: DeadProxies

    /// The object's id; none for a promise.
    var id: ObjectID {
        if case .object(let id) = target { id } else { .none }
    }

    init(_ target: ProxyTarget, _ dead: DeadProxies) {
        self.target = target
        self.dead = dead
    }

    deinit { dead.targets.append(target) }

    func _external(for owner: AnyObject?) throws -> _ExternalValue { .object(self) }
}

/// What freed proxies stood for, before the other side is notified.
final class DeadProxies: @unchecked Sendable {
    // Used by one thread.
    var targets: [ProxyTarget] = []
    /// Streams of the other side whose readers were freed.
    var streams: [StreamInbox] = []
}

/// A host whose answers the test sets.
final class StateHost: ConversationHost {
    typealias Waiter = Int
    typealias RoomWaiter = Int
    typealias RunningCall = Int
    typealias Proxy = StateProxy

    let isInitiator: Bool
    var now: UInt64 = 1_000_000_000
    var isServing = false
    var isQueueFull = false
    var hasRoomForLargeMessages = true
    var unsentAnswers = 0
    var writtenAnswers: UInt64 = 0
    /// The last frame that is written.
    var writtenFrames = UInt64.max
    var largeMessageCredit = MessageCredit.counted
    var isPeerTrusted = true
    var hasSharedMemory = false
    let dead = DeadProxies()

    private let root: StateObject

    init(isInitiator: Bool, _ root: StateObject) {
        self.isInitiator = isInitiator
        self.root = root
    }

    var rootDirectory: (object: AnyObject, messages: Unmanaged<ClassMessages>) { (root, ClassMessages.of(root)) }

    func makeProxy(for id: ObjectID, of described: DescribedClass?) -> StateProxy { StateProxy(.object(id), dead) }
    static func describe(_ proxy: StateProxy, as described: DescribedClass) {}
    func entry(of object: AnyObject) -> TableEntry {
        switch object {
        case let proxy as StateProxy: proxy.dead === dead ? .proxy(proxy.target) : .foreign
        case let reader as StateStreamReader: reader.dead === dead ? .stream(reader.inbox) : .foreign
        default: .own
        }
    }
    func makeStreamReader(_ inbox: StreamInbox) -> AnyObject { StateStreamReader(inbox, dead) }
    func makeBlobReturns() -> BlobReturns { BlobReturns {} }
    func hasRoom(forLargeMessage byteCount: Int) -> Bool { hasRoomForLargeMessages }
    func isWritten(_ number: UInt64) -> Bool { number <= writtenFrames }
    func mayBeWritten(_ number: UInt64) -> Bool { number <= writtenFrames }
    func creditLargeMessages(_ byteCount: UInt64) -> MessageCredit { largeMessageCredit }
}

/// A frame between two states.
struct StateFrame: Sendable {
    var kind: FrameKind
    var flags: UInt8 = 0
    var bytes: [UInt8] = []
    /// The body that follows in fragments.
    var fragments: [UInt8]?
    var descriptors: [CInt] = []
    var form = Outbox.Form.whole

    /// A frame with these numbers as its body.
    init(_ kind: FrameKind, _ numbers: UInt64..., flags: UInt8 = 0) {
        self.kind = kind
        self.flags = flags
        var buffer = PrefixBuffer()
        for number in numbers { buffer.append(number) }
        bytes = Array(buffer.bytes)
    }
}

/// An object that the other side may refer to.
final class StateObject: Vendable {
    static var messages: MessageTable<StateObject> {
        Message("take", StateObject.take)
        Message("takeObject", StateObject.takeObject)
    }

    func take(_ number: Int) -> Int { number }
    func takeObject(_ object: DistantObject) {}
}

/// One side of a connection without sockets, threads or a clock: only its state.
final class StateSide {
    let host: StateHost
    var state: Conversation<StateHost>
    /// The actions of transitions as text, in order.
    var done: [String] = []
    /// Frames that are written but not delivered.
    var wire: [StateFrame] = []
    /// Calls that are started but not answered.
    var running: [InboundCall] = []
    /// The references that messages mentioned.
    var references: [AnyObject] = []
    /// Answers, whose encoders the state borrows until the outbox is emptied.
    var messages: [OutboundMessage] = []
    /// Streams whose reader has asked for items, in order.
    var started: [StreamOutbox] = []
    /// The answers, by waiter.
    var answers: [Int: ReturnStatus] = [:]
    var failures: [Int: ConnectionError.Code] = [:]
    let root = StateObject()
    private var received: UInt64 = 0

    init(isInitiator: Bool, limits: ConnectionLimits = ConnectionLimits(), busy: BusyTraffic? = nil) {
        host = StateHost(isInitiator: isInitiator, root)
        state = Conversation(.of(limits, sharesMemoryWhen: busy))
    }

    /// Two sides that have finished the handshake.
    static func pair(
        limits: ConnectionLimits = ConnectionLimits(), busy: BusyTraffic? = nil
    ) throws -> (client: StateSide, server: StateSide) {
        let client = StateSide(isInitiator: true, limits: limits, busy: busy)
        let server = StateSide(isInitiator: false, limits: limits, busy: busy)
        client.state.session.writeHello(isInitiator: true, sharesMemory: busy != nil)
        try server.receive(client.takeFrames())
        _ = server.state.acceptPeer(sharesMemory: busy != nil)
        try client.receive(server.takeFrames())
        _ = client.state.acceptPeer(sharesMemory: busy != nil)
        (client.done, server.done) = ([], [])
        return (client, server)
    }

    // MARK: Frames

    /// Moves what the state has written to `wire`.
    func collect() {
        defer { state.session.outbox.removeAll() }
        for frame in [state.session.outbox.first].compactMap(\.self) + state.session.outbox.others {
            var taken = StateFrame(frame.kind, flags: frame.flags)
            taken.bytes = Array(state.session.outbox.bytes(of: frame))
            taken.form = frame.form
            if frame.form == .withDescriptors { taken.descriptors = state.session.outbox.descriptors }
            let encoder = frame.encoder?.takeUnretainedValue()
            switch frame.form {
            case .withValues: taken.bytes += encoder.map { Array($0.plainValues) } ?? []
            case .withFragments: taken.fragments = encoder.map { $0.takeSegments().flatMap { Array($0.bytes) } }
            case .whole, .withDescriptors, .lastOnSocket, .last: break
            }
            wire.append(taken)
        }
    }

    func takeFrames() -> [StateFrame] {
        collect()
        defer { wire = [] }
        return wire
    }

    /// Removes the frames written since the last call, and returns their kinds.
    func takeKinds() -> [FrameKind] { takeFrames().map(\.kind) }

    func receive(_ frames: [StateFrame]) throws {
        for frame in frames { try receive(frame) }
    }

    /// The number of the last frame whose fragments have not arrived.
    private(set) var lastOpener: UInt64 = 0

    /// Enters a frame whose fragments have not arrived.
    func receiveOpener(_ frame: StateFrame) throws {
        try receive(frame, withFragments: false)
        lastOpener = received
    }

    /// Enters one frame of the other side and its fragments, and notes the actions.
    @discardableResult
    func receive(_ frame: StateFrame, withFragments: Bool = true) throws -> DeliveryStep {
        received += 1
        let number = received
        let buffer = ReadBuffer()
        let bytes = UnsafeMutableRawBufferPointer(start: buffer.memory, count: frame.bytes.count)
        bytes.copyBytes(from: frame.bytes)
        let header = FrameHeader(length: UInt32(frame.bytes.count), kind: frame.kind.rawValue, flags: frame.flags)
        let inbound = InboundFrame(
            header, number: number, bytes: UnsafeRawBufferPointer(bytes),
            messageLength: frame.fragments.map { UInt64($0.count) }, descriptors: frame.descriptors,
            buffer: .passUnretained(buffer))
        var actions = Actions<StateHost>()
        let step: DeliveryStep
        do throws(ProtocolViolation) {
            step = try state.receive(inbound, host, &actions)
        } catch {
            state.session.fail(error)
            perform(actions)
            throw error
        }
        perform(actions)
        if withFragments, let fragments = frame.fragments { try receive(fragmentsOf: number, fragments) }
        return step
    }

    /// Enters the fragments of a message; nil if its sender aborted it.
    func receive(fragmentsOf number: UInt64, _ fragments: [UInt8]?) throws {
        let slice = fragments.map { fragments in
            let block = ByteBlock.make(count: fragments.count)
            block.bytes.copyBytes(from: fragments)
            return ByteSlice(owner: block, bytes: UnsafeRawBufferPointer(block.bytes))
        }
        var actions = Actions<StateHost>()
        do throws(ProtocolViolation) {
            try state.receive(fragmentsOf: number, slice, &actions)
        } catch {
            state.session.fail(error)
            perform(actions)
            throw error
        }
        perform(actions)
    }

    /// Ends a read: queued messages are written.
    func endIteration() {
        var actions: [Action<StateHost>] = []
        state.lookAtAnswers(host, &actions)
        while state.writeNextPending(host, &actions) { collect() }
        state.serving.waitingBytes.end()
        for action in actions { perform(action) }
    }

    // MARK: Actions

    func transition<Result>(_ body: (inout Conversation<StateHost>, inout [Action<StateHost>]) -> Result) -> Result {
        var actions: [Action<StateHost>] = []
        let result = body(&state, &actions)
        collect()
        for action in actions { perform(action) }
        return result
    }

    private func perform(_ actions: consuming Actions<StateHost>) {
        actions.perform(
            answer: { waiter, reply in finish(waiter, reply) },
            others: { rest in for action in rest { perform(action) } })
    }

    private func finish(_ waiter: Int, _ reply: Reply) {
        done.append("answer \(waiter)")
        answers[waiter] = reply.status
        references += reply.tables?.references ?? []
    }

    private func perform(_ action: Action<StateHost>) {
        switch action {
        case .fail(let waiter, let error):
            failures[waiter] = (error as? ConnectionError)?.code ?? .cancelled
            done.append("fail \(waiter)")
        case .oneWay(let waiter, let error): done.append("one-way \(waiter)\(error == nil ? "" : " failed")")
        case .cancel(let call): done.append("cancel \(call)")
        case .discard: done.append("discard")
        case .unexport: done.append("unexport")
        case .release: done.append("release")
        case .abort: done.append("abort")
        case .event: done.append("event")
        case .decideOnPeer(let program): done.append("decide on \(program)")
        case .peerSaidGoodbye: done.append("goodbye")
        case .closeIfIdle: done.append("close if idle")
        case .awaitAnswers(let count): done.append("await answers \(count)")
        case .startAnswerTimer: done.append("start timer")
        case .releaseFreeMemory: done.append("release memory")
        case .stream(let action): perform(action)
        case .flush: done.append("flush")
        case .watchBlobs: done.append("watch blobs")
        case .recycle(let message): message.reset()
        case .pong, .cancelTimer, .endRoots, .ended: break
        }
    }

    /// Starts the next call of the other side.
    @discardableResult
    func start() -> InboundCall? {
        let call = transition { state, actions in state.startCall(host, &actions) }
        guard let call else { return nil }
        if let question = call.question, state.serving.answers.attach(Int(question), to: question) {
            done.append("cancel \(question)")
        }
        references += call.tables?.references ?? []
        running.append(call)
        return call
    }

    /// Answers a call that was started.
    @discardableResult
    func answer(
        _ call: InboundCall, _ result: OutboundMessage? = nil, keeping kept: KeptAnswer.Outcome? = nil
    ) throws -> AnswerOutcome {
        running.removeAll { $0 === call }
        let message = try result ?? Self.message("") { try $0.encode(7) }
        messages.append(message)
        let status = if case .failed = kept { ReturnStatus.thrown } else { ReturnStatus.result }
        return transition { state, actions in
            let outcome = state.answer(call, with: message, status, keeping: kept, host, &actions)
            state.firstJobReturned(call)
            return outcome
        }
    }

    func endOneWay(_ call: InboundCall, _ failure: ConnectionError? = nil) {
        running.removeAll { $0 === call }
        transition { state, actions in
            if let failure {
                _ = state.oneWayFailed(call, failure, host, &actions)
            } else {
                _ = state.oneWayEnded(call, host, &actions)
            }
            state.firstJobReturned(call)
        }
    }

    /// Releases the freed proxies at the other side.
    ///
    /// - Returns: Whether there were any.
    @discardableResult
    func release() -> Bool {
        // Sent messages hold readers that they have passed back. The state holds those that wait.
        messages = []
        var dying = DyingReferences()
        let hasStreams = stopDeadStreams()
        for target in host.dead.targets { _ = dying.append(target) }
        host.dead.targets = []
        state.release(dying)
        collect()
        return !dying.isEmpty || hasStreams
    }

    /// Whether every table is empty.
    var isAtRest: Bool {
        state.questions.table.count == 0 && state.serving.answers.count + state.serving.answers.keptCount == 0
            && state.questions.pending.isEmpty
            && state.serving.ready.isEmpty && state.session.large.arriving.isEmpty && state.session.streams.isEmpty
            && state.serving.unfinished == 0
            && state.session.references.importCount == 0 && state.session.references.exports.count == 0
            && state.session.references.exports.lingeringCount == 0
    }
}
