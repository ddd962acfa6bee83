import KeyedArchive
import PortTransport

/// All that one connection knows: its tables, counters and what waits.
///
/// A struct of pure transitions: nothing here does I/O, calls user code or takes a lock. What a transition wants done is
/// left to do `afterwards` and performed by the `Connection` after it gave up the lock. Frames to be sent are put together
/// in `prefix` and handed to the channel in the same critical section, which makes the order of commit the order on the wire.
struct PortState: ~Copyable {
    enum Phase {
        /// No `Hello` of the peer has been accepted.
        case handshake
        case open
        /// Our side has begun an orderly close: no new calls in either direction, answers still go out.
        case closing
        /// Nothing more comes from the peer: calls of ours have failed. Those of the peer that were read still start.
        case ending
        case ended
    }

    private let shared: Connection.SharedConfiguration
    var phase = Phase.handshake
    var prefix = PrefixBuffer()

    /// Openers committed and entered so far: the two watermarks.
    var sent: UInt64 = 0
    var entered: UInt64 = 0

    /// What the peer's `Hello` granted.
    var grants = PeerGrants()
    /// Calls we may still commit, and those the peer may.
    var credits = 0
    var inboundCredits: Int
    /// One-way messages we may still commit, and those the peer may, if they have a credit of their own.
    var oneWayCredits: Int?
    var inboundOneWayCredits: Int?
    /// One-way messages of the peer that have ended and were not given back as credit.
    var owedOneWayCredits = 0
    /// Starts of the peer's calls not yet given back as credit.
    var owedCredits = 0

    var exports = ExportTable()
    var imports: ImportTable
    var questions = QuestionTable()
    var answers: AnswerTable
    var namesOut = OutboundInterning<String>()
    var namesIn = InboundInterning<InternedName>()
    var shapesOut = OutboundInterning<Shape>()
    var shapesIn = InboundInterning<InboundShape>()

    var ready = ReadyCalls()
    var answerFlow: AnswerFlow
    /// The accept rule has not refused the peer: its calls, which may come with its `Hello`, wait for that.
    var isAccepted = false
    /// A piece of the loop's work will look at `ready`, should the method that runs now block.
    var hasHelper = false
    /// Calls that run, without the one-way messages that have a credit of their own.
    var runningCalls = 0
    /// A task that has served a call and waits for another.
    ///
    /// One is enough for calls that follow one another, and more would be memory that idle connections keep; so would be one
    /// after the few calls by which connections begin.
    var resting: ServingTask?
    /// Calls that tasks have served.
    private var servedByTasks = 0
    /// Calls entered and not finished, one-way messages too.
    var unfinished = 0
    /// Messages encoded and waiting for credit or room.
    var pending = SendQueues()
    var oneWays = OneWayRecord()
    var partials: [UInt64: PartialMessage] = [:]
    /// Where the arguments of calls lie that came in this turn and have to wait.
    var waitingBytes = ByteBatch()
    /// What is to be done after the lock is given up.
    private var completions = Completions()

    var barriers = BarrierCounts()
    var pings: [UInt64: ControlWait] = [:]
    /// Pings and barriers of ours that wait until fewer are unanswered.
    var waitingControls = Fifo<(kind: FrameKind, wait: ControlWait)>()
    /// The numbers of our answers to the peer's, as far as they may not be written.
    var unwrittenPongs = Fifo<UInt64>()
    /// Frames were committed while others were received, which nobody has flushed.
    var owesFlush = false
    /// Credit is not given back before the peer has read more of its answers.
    var holdsCredit = false
    var nextToken: UInt64 = 0

    /// What the peer said in its `Goodbye`.
    var peerGoodbye: (entered: UInt64, reason: GoodbyeReason?, text: String)?
    var goodbyeSent = false
    /// Why the connection ends, from `ending` on.
    var verdict: ConnectionEnd?
    /// The rule of the protocol that the peer broke.
    var violation: String?
    var framesIn: UInt64 = 0
    var sharing: Sharing
    /// When the traffic was looked at last.
    var trafficSeenAt: UInt64 = 0

    init(_ shared: Connection.SharedConfiguration) {
        self.shared = shared
        let limits = shared.value.limits
        sharing = shared.value.sharesMemory ? .possible : .never
        inboundCredits = limits.queuedCalls
        answerFlow = AnswerFlow(bound: limits.unreadAnswers)
        imports = ImportTable(limit: limits.references)
        answers = AnswerTable(limit: limits.queuedCalls + limits.runningCalls + ProtocolLimits.refusals)
    }

    var limits: Connection.Limits {
        @inline(__always) _read { yield shared.value.limits }
    }
    var busy: Connection.Busy { shared.value.busy }

    mutating func afterwards(_ completion: Completion) { completions.append(completion) }

    /// As `afterwards`, for the answer to a call of ours.
    mutating func afterwards(answer waiter: consuming Waiter, with reply: consuming Reply) {
        completions.append(answer: waiter, with: reply)
    }

    /// The answer that the task of a scope waits for, if it is there and no call that came with it starts first.
    mutating func takeAnswer(for scope: Unmanaged<CallScope>) -> Result<Reply, any Error>? {
        if !hasStartable, let reply = completions.takeAnswer(for: scope) { return .success(reply) }
        return scope._withUnsafeGuaranteedRef { $0.answer.take() }
    }

    /// How many calls tasks have to serve before one may rest.
    private static let callsBeforeRest = 4

    var mayRest: Bool { resting == nil && phase != .ended && servedByTasks > Self.callsBeforeRest }

    /// The task that rests, for a call to be served by one.
    mutating func takeResting() -> ServingTask? {
        servedByTasks += 1
        return resting.take()
    }

    /// Nothing has to follow from the frames of the last read.
    var isSettled: Bool { completions.isEmpty && ready.isEmpty && !holdsCredit && !owesFlush && waitingBytes.isEmpty }

    /// Whether a call may start now, as far as is known without asking the channel.
    @inline(__always)
    var hasStartable: Bool { !ready.isEmpty && (answerFlow.mayStartCalls || ready.hasOneWays) }

    /// Whether frames were committed since so many were, or while others were received, that nobody has flushed.
    mutating func takeOwedFlush(since count: UInt64) -> Bool {
        defer { owesFlush = false }
        return owesFlush || sent != count
    }

    mutating func takeCompletions() -> Completions {
        var taken = Completions()
        swap(&taken, &completions)
        return taken
    }
}
