import KeyedArchive
import PortTransport

/// A call of the peer whose header and tables have been entered and whose arguments have not been decoded.
///
/// The references are held strongly until the call is decoded or thrown away: that pins the imports among them. A class,
/// because it passes through several queues: moving it costs one count instead of one for each field.
final class InboundCall: @unchecked Sendable {
    // Made by the reading thread, owned by the connection's lock while it waits, by who serves it afterwards.

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
    /// Found when its turn came: the peer had cancelled it.
    @exclusivity(unchecked) var isCancelled = false
    /// Found when it was entered, or when its turn came.
    @exclusivity(unchecked) var obstacle = Obstacle.none
    /// Found when its turn came: others were behind it, and its method may block.
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

    /// Lets go of the arguments' bytes.
    ///
    /// - Returns: How much of the bulk window they took.
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

/// The bytes of a message, there or still on the way in fragments.
enum InboundBody {
    case whole(ByteSlice)
    case arriving(PartialMessage)
    /// The arguments were decoded.
    case taken

    /// How much of the bulk window the bytes take.
    var bulk: Int {
        switch self {
        case .whole, .taken: 0
        case .arriving(let partial): partial.bytes?.bytes.count ?? 0
        }
    }

    /// The bytes, and how much of the bulk window they take; `nil` if the sender gave up in the middle.
    var bytes: (ByteSlice, bulk: Int)? {
        switch self {
        case .whole(let slice):
            return (slice, 0)
        case .arriving(let partial):
            guard let slice = partial.bytes else { return nil }
            return (slice, slice.bytes.count)
        case .taken:
            return nil
        }
    }
}

/// A fragmented message whose continuations are on the way.
///
/// Read and written under the connection's lock.
final class PartialMessage: @unchecked Sendable {
    enum Purpose {
        case call(Export)
        /// With what the opener brought.
        case reply(question: UInt32, ReturnStatus, MessageTables?)
    }

    let purpose: Purpose
    var bytes: ByteSlice?
    var isAborted = false

    init(purpose: Purpose) {
        self.purpose = purpose
    }
}

/// An answer whose header and tables have been entered; its body is decoded by who waits for it.
final class Reply: @unchecked Sendable {
    // Made by the reading thread, then owned by who waits.
    let status: ReturnStatus
    let body: ByteSlice
    /// How much of the bulk window the body takes.
    let bulk: Int
    let tables: MessageTables?

    /// Whether it is the answer of a method that has no result.
    var isWithoutValue: Bool { body.bytes.count <= 2 && body.bytes.allSatisfy { $0 == 0 } }

    init(status: ReturnStatus, body: consuming ByteSlice, bulk: Int, tables: consuming MessageTables?) {
        self.status = status
        self.body = body
        self.bulk = bulk
        self.tables = tables
    }
}

/// The references and class shapes of a message that has any: most have not, and pay nothing for them.
///
/// The references are held strongly until the message is decoded or thrown away, which pins the imports among them.
final class MessageTables: Sendable {
    nonisolated(unsafe) let references: [AnyObject]
    let shapes: [Shape]
    /// Why the message cannot be decoded.
    ///
    /// Its tables were entered all the same, so that later ones mean the same on both sides.
    let fault: ArchiveError?

    init(references: [AnyObject], shapes: [Shape], fault: ArchiveError? = nil) {
        self.references = references
        self.shapes = shapes
        self.fault = fault
    }
}
