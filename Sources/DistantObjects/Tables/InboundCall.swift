import KeyedArchive
import PortTransport

/// A call of the peer whose header and tables have been entered and whose arguments have not been decoded.
///
/// It holds the message's references until the call is decoded or dropped. It is a class because it passes through several
/// queues: moving it costs one reference count, not one for each field.
final class InboundCall: @unchecked Sendable {
    // The reading thread makes it, the connection's lock guards it while it waits, and the thread or task that serves it owns it.

    /// `nil` for a one-way message.
    let question: UInt32?
    let keepsAnswer: Bool
    /// The number of its opener.
    let number: UInt64
    let export: Export
    let message: MessageBody
    let argumentCount: Int
    let tables: MessageTables?
    /// Nanoseconds of the monotonic clock; `nil` without a deadline.
    let deadline: UInt64?
    /// Which barriers it stands behind.
    let epoch: UInt32
    /// It came after an orderly close had begun.
    let isLate: Bool
    /// Until the arguments are decoded; then nothing keeps the memory they came in.
    @exclusivity(unchecked) private(set) var body: InboundBody
    /// The peer had cancelled it when its turn came.
    @exclusivity(unchecked) var isCancelled = false
    /// Set when it was entered, or when its turn came.
    @exclusivity(unchecked) var obstacle = Obstacle.none
    /// Others were behind it when its turn came, and its method may block.
    @exclusivity(unchecked) var needsHelper = false
    /// The object's next message may start; under the connection's lock.
    @exclusivity(unchecked) var firstJobIsOver = false

    init(
        question: UInt32?, keepsAnswer: Bool, number: UInt64, export: consuming Export,
        message: consuming MessageBody, argumentCount: Int, tables: consuming MessageTables?, deadline: UInt64?,
        epoch: UInt32, isLate: Bool, body: consuming InboundBody
    ) {
        self.question = question
        self.keepsAnswer = keepsAnswer
        self.number = number
        self.export = export
        self.message = message
        self.argumentCount = argumentCount
        self.tables = tables
        self.deadline = deadline
        self.epoch = epoch
        self.isLate = isLate
        self.body = body
    }

    /// Releases the bytes of the arguments.
    ///
    /// - Returns: Bytes of the large-message window that they took.
    func takeBody() -> Int {
        let bulk = body.bulk
        body = .taken
        return bulk
    }

    var isComplete: Bool {
        if case .arriving(let partial) = body { return partial.bytes != nil || partial.isAborted }
        return true
    }
}

/// Why a call is not run.
enum Obstacle {
    case none
    /// Its tables cannot be used.
    case tables
    /// Too many calls were running.
    case calls
    /// Too many answers were unread, for too long.
    case answers
}

extension ByteSlice {
    /// No bytes.
    static var empty: ByteSlice {
        ByteSlice(owner: Nothing.shared, bytes: UnsafeRawBufferPointer(start: nil, count: 0))
    }

    private final class Nothing: Sendable {
        static let shared = Nothing()
    }
}
