import KeyedArchive
import PortTransport

/// All that one side of a connection knows: its tables, its counters and what waits.
///
/// A struct of pure transitions: none does I/O, calls user code, takes a lock or asks the system. A transition writes frames
/// into `outbox`, which is emptied into the channel before the lock is given up: number, watermark and append are one step,
/// so the order of transitions is the order on the wire. All else that a transition wants done it appends to the `actions`
/// that its caller performs after the lock. What it has to know of the channel, the clock and the objects that stand for
/// those of the peer it asks the host.
struct PortState<Host: PortHost>: ~Copyable {
    typealias Waiter = Host.Waiter
    typealias RoomWaiter = Host.RoomWaiter
    typealias RunningCall = Host.RunningCall
    typealias Proxy = Host.Proxy

    enum Phase: UInt8 {
        /// No `Hello` of the peer has been accepted.
        case handshake
        case open
        /// Our side has begun an orderly close: no new calls in either direction, answers still go out.
        case closing
        /// Nothing more comes from the peer: calls of ours have failed. Those of the peer that were read still start.
        case ending
        case ended
    }

    let settings: PortSettings
    private(set) var phase = Phase.handshake
    var outbox = Outbox()

    /// Frames written and entered so far: the two watermarks.
    private(set) var sent: UInt64 = 0
    var entered: UInt64 = 0
    var framesIn: UInt64 = 0

    var handshake = Handshake()
    var credit: Credit
    var controls = Controls()
    var ending = Ending()
    var sharing: Sharing

    // MARK: Tables

    var exports = ExportTable()
    var imports: ImportTable<Proxy>
    var questions = QuestionTable<Waiter>()
    var answers: AnswerTable<RunningCall>
    var namesOut = OutboundInterning<String>()
    var namesIn = InboundInterning<InternedName>()
    var shapesOut = OutboundInterning<Shape>()
    var shapesIn = InboundInterning<InboundShape>()
    var classesOut = OutboundInterning<UnsafeRawPointer>()
    var classesIn = InboundInterning<DescribedClass>()
    /// Messages whose fragments are on the way here, by the number of their opener.
    var partials: [UInt64: PartialMessage] = [:]

    // MARK: Messages that wait

    /// Messages encoded and waiting for credit or room.
    var pending = SendQueues<Waiter, RoomWaiter>()
    /// What became of one-way messages.
    var oneWays = OneWayRecord()
    /// Calls of the peer whose turn has come.
    var ready = ReadyCalls()
    var answerFlow: AnswerFlow
    /// The loop will look at `ready`, should the method that runs now block.
    var hasHelper = false
    /// Calls of the peer that run, without the one-way messages that have a credit of their own.
    var runningCalls = 0
    /// Calls of the peer entered and not finished, one-way messages too.
    var unfinished = 0
    /// Where the arguments of calls lie that came in this read and have to wait.
    var waitingBytes = ByteBatch()

    init(_ settings: PortSettings) {
        self.settings = settings
        let limits = settings.limits
        sharing = Sharing(settings.sharesMemoryWhen == nil ? .never : .possible)
        credit = Credit(queuedCalls: limits.queuedCalls)
        answerFlow = AnswerFlow(bound: limits.unreadAnswers)
        imports = ImportTable(limit: limits.references)
        answers = AnswerTable(limit: limits.queuedCalls + limits.runningCalls + ProtocolLimits.refusals)
    }

    var limits: ConnectionLimits {
        @inline(__always) _read { yield settings.limits }
    }

    /// Whether references in messages name the class of their object.
    var describesClasses: Bool { handshake.grants.features & ProtocolLimits.describesClasses != 0 }

    /// Whether frames of the last read still want something done, besides actions.
    var isSettled: Bool {
        ready.isEmpty && waitingBytes.isEmpty && !credit.isHeld && !(credit.isFresh && !pending.isEmpty)
    }

    /// Moves on; phases never go back.
    mutating func enter(_ next: Phase) {
        assert(next.rawValue > phase.rawValue)
        phase = next
    }

    // MARK: Writing

    /// Completes the frame that the outbox holds, and gives it its number.
    mutating func write(_ kind: FrameKind, flags: UInt8 = 0, _ form: Outbox.Form = .whole) {
        sent += 1
        outbox.finish(kind, flags: flags, form)
    }

    /// Completes a frame that is followed by a message.
    mutating func write(_ kind: FrameKind, flags: UInt8, with encoder: ObjectEncoder) {
        sent += 1
        guard outbox.count + encoder.byteCount <= ProtocolLimits.wholeFrame else {
            return outbox.finish(kind, flags: flags, .withFragments, encoder: .passUnretained(encoder))
        }
        if let parts = encoder.plainParts {
            outbox.append(contentsOf: parts.header)
            return outbox.finish(kind, flags: flags, .withValues, encoder: .passUnretained(encoder))
        }
        encoder.forEachSegment { outbox.append(contentsOf: $0) }
        outbox.finish(kind, flags: flags)
    }

    /// Completes a frame that carries descriptors.
    mutating func write(_ kind: FrameKind, flags: UInt8, descriptors: [CInt]) {
        sent += 1
        outbox.finish(kind, flags: flags, descriptors: descriptors)
    }

    /// Writes a frame that is one number.
    mutating func write(_ kind: FrameKind, number: UInt64, flags: UInt8 = 0) {
        outbox.append(number)
        write(kind, flags: flags)
    }
}
