import KeyedArchive
import PortTransport

/// A call of the peer whose header and tables have been entered.
///
/// It holds the message's references until the arguments are decoded or the call is dropped. It is a class because it moves
/// through several queues, and a class instance costs one retain where a struct costs one for each field.
final class InboundCall: @unchecked Sendable {
    // The small properties stand together, to keep an instance small: up to 128 bytes, the allocator keeps freed memory
    // in lists of one size.
    //
    // The reading thread makes the object. While the call waits, the connection's lock guards it. Then the thread or
    // task that serves the call owns it.

    /// The number of the question; `nil` for a one-way message.
    let question: UInt32?
    let flags: CallFlags
    /// Why the method must not run.
    @exclusivity(unchecked) var obstacle: Obstacle
    /// The number of the call's opener, its first frame.
    let number: UInt64
    /// The object that the call is for; the stand-in while the call is for an answer that is not known yet.
    var export: Export { target.takeUnretainedValue() }
    var message: MessageBody { method.takeUnretainedValue() }
    // The call owns both objects. They are unmanaged, because taking an object out of a variable of a class retains the
    // object, and a call is looked at several times.
    @exclusivity(unchecked) private var target: Unmanaged<Export>
    @exclusivity(unchecked) private var method: Unmanaged<MessageBody>
    let argumentCount: Int
    @exclusivity(unchecked) private(set) var tables: MessageTables?
    /// The deadline in nanoseconds of the monotonic clock; `nil` if there is none.
    let deadline: UInt64?
    @exclusivity(unchecked) var place: CallPlace
    /// About how many bytes of memory the call takes while it waits.
    ///
    /// Guarded by the connection's lock.
    @exclusivity(unchecked) private(set) var memory: UInt32
    /// The number of barriers that were entered before the call.
    let epoch: UInt32
    /// The arguments, until they are decoded.
    @exclusivity(unchecked) private(set) var body: InboundBody
    /// Properties that few calls have.
    @exclusivity(unchecked) private var rare: Rare?

    private final class Rare {
        var metadata: [String: String]?
        var failure: (any Error)?
    }

    init(
        question: UInt32?, flags: CallFlags, number: UInt64, export: consuming Export,
        message: consuming MessageBody, argumentCount: Int, tables: consuming MessageTables?, deadline: UInt64?,
        metadata: [String: String]?, epoch: UInt32, obstacle: Obstacle, place: CallPlace,
        body: consuming InboundBody, memory: Int
    ) {
        self.question = question
        self.flags = flags
        self.number = number
        target = .passRetained(export)
        method = .passRetained(message)
        self.argumentCount = argumentCount
        self.tables = tables
        self.deadline = deadline
        self.epoch = epoch
        self.obstacle = obstacle
        self.place = place
        self.body = body
        self.memory = UInt32(clamping: memory)
        guard let metadata else { return }
        let rare = Rare()
        rare.metadata = metadata
        self.rare = rare
    }

    deinit {
        target.release()
        method.release()
    }

    /// Calls `body` with the object that the call is for, without retaining it.
    @inline(__always)
    func withExport<Result>(_ body: (Export) throws -> Result) rethrows -> Result {
        try target._withUnsafeGuaranteedRef(body)
    }

    /// Whether the call's method runs without a task.
    var isSynchronous: Bool { method._withUnsafeGuaranteedRef { $0.isSynchronous } }

    /// Whether the message is listed and takes as many arguments as the call has.
    var hasListedArgumentCount: Bool {
        method._withUnsafeGuaranteedRef { $0.argumentCount == argumentCount && !$0.isUnlisted }
    }

    /// Runs the call's synchronous method, and encodes the result if there is an encoder.
    @inline(__always)
    func run(_ decoder: ObjectDecoder, _ encoder: Unmanaged<ObjectEncoder>?) throws {
        try withExport { export in
            try method._withUnsafeGuaranteedRef { try $0.runSynchronously(export.object, decoder, encoder) }
        }
    }

    /// The bytes of the arguments if they came whole and without tables; the call keeps the bytes.
    var plainArguments: UnsafeRawBufferPointer? {
        guard tables == nil, case .whole(let slice) = body else { return nil }
        return slice.bytes
    }

    /// The metadata that the caller sent with the call; `nil` if it sent none.
    var metadata: [String: String]? { rare?.metadata }

    /// The error of a failed answer that the call is for or has as an argument, or the error that says that there was
    /// no memory for the call.
    var failure: (any Error)? { rare?.failure }

    /// Releases the bytes of the arguments.
    ///
    /// - Returns: The number of bytes for which credit has to be given back.
    func takeBody() -> Int {
        let largeBytes = body.takeLargeBytes()
        body = .taken
        return largeBytes
    }

    /// Releases the references if blobs are among them: from now on only the decoded arguments keep the blobs.
    func letGoOfBlobs() {
        if tables?.hasBlobs == true { tables = nil }
    }

    /// Whether answers of this side are among the arguments.
    var namesAnswers: Bool { tables?.namesAnswers ?? false }

    /// Sends the call to the object that its target has turned out to be.
    func redirect(to export: Export) {
        let (oldTarget, oldMethod) = (target, method)
        target = .passRetained(export)
        method = .passRetained(export.messages._withUnsafeGuaranteedRef { $0.message(named: message.name) })
        oldTarget.release()
        oldMethod.release()
        if case .arriving(let partial) = body { partial.recipient = .call(export) }
    }

    /// Puts the objects of kept answers in the place of these answers.
    ///
    /// - Returns: An answer among the arguments that is not known yet; the call has to wait for it.
    func resolveArguments() -> KeptAnswer? {
        guard let tables, tables.namesAnswers else { return nil }
        for case let answer as KeptAnswer in tables.references {
            switch answer.state {
            case .pending: return answer
            case .object, .passedOn: break
            case .failed(let error): fail(error)
            }
        }
        tables.resolveAnswers()
        return nil
    }

    /// Has the call fail with the error of an answer that it names.
    func fail(_ error: any Error) {
        obstacle.add(.failure)
        let rare = rare ?? Rare()
        self.rare = rare
        if rare.failure == nil { rare.failure = error }
    }

    /// Has the call fail, and drops its arguments.
    ///
    /// - Returns: The tables, which the caller releases without the lock, and the bytes for which credit has to be given back.
    func drop(_ error: any Error) -> (tables: MessageTables?, largeBytes: Int) {
        fail(error)
        defer { (tables, memory) = (nil, 0) }
        let largeBytes = body.drop()
        body = .taken
        return (tables, largeBytes)
    }

    /// Notes that the call can start, so that its bytes will be decoded soon.
    func leaveWaiting() { body.leaveWaiting() }

    var isComplete: Bool {
        if case .arriving(let partial) = body { return partial.bytes != nil || partial.isAborted }
        return true
    }
}

extension ByteSlice {
    static var empty: ByteSlice {
        ByteSlice(owner: Nothing.shared, bytes: UnsafeRawBufferPointer(start: nil, count: 0))
    }

    private final class Nothing: Sendable {
        static let shared = Nothing()
    }
}
