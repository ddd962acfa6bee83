import KeyedArchive
import PortTransport

/// The protocol state of one side of a connection: its tables, its counters and its queues.
///
/// Its methods are pure transitions: none does I/O, calls user code, waits or makes a system call. A transition writes frames
/// into `outbox`, which is emptied into the channel before the lock is released. A frame gets its number, its watermark and its
/// place in the queue in one step, so the order of transitions is the order on the wire. A transition appends all other work to
/// `actions`, which the caller performs after it has released the lock. The host answers questions about the channel, the clock
/// and the proxies for the peer's objects.
///
/// A transition may take locks, each for a moment: those of the process's tables of described classes
/// (`DescribedClass.of`) and of message tables (`ClassMessages.known`, if the thread used another class last), the two
/// of `BlobReturns`, that of `ReceivedShapes`, and in the host the queue lock and the gate of the channel. That is
/// sound, because a transition runs no user code under these locks and takes no other lock there: they come last in
/// every order of locks.
struct Conversation<Host: ConversationHost>: ~Copyable {
    typealias Waiter = Host.Waiter
    typealias RoomWaiter = Host.RoomWaiter
    typealias RunningCall = Host.RunningCall
    typealias Proxy = Host.Proxy

    enum Phase: UInt8 {
        /// The peer's `Hello` has not been accepted.
        case handshake
        case open
        /// This side has begun an orderly close: no new calls in either direction; answers are still sent.
        case closing
        /// No more input comes from the peer, and this side's calls have failed. Calls of the peer that were read still start.
        case ending
        case ended
    }

    let settings: ConversationSettings
    var outbox = Outbox()

    /// The number of the last frame that this side has entered: the *watermark* that it sends to the peer.
    var entered: UInt64 = 0
    var framesIn: UInt64 = 0

    var handshake = Handshake()
    var credit: Credit
    var pings = Pings()
    var ending = Ending()
    var sharing: Sharing
    private(set) var phase = Phase.handshake
    /// Whether a job on the loop will start the calls in `ready` if the method that runs now blocks.
    var hasHelper = false

    // MARK: Tables

    // The properties in `Conversation+Tables.swift` give access to these tables.
    var calling = LazyBox<CallerTables<Host>>()
    var serving = LazyBox<ServerTables<Host>>()
    var rare = LazyBox<RareTables>()
    var streams = Streams()

    // MARK: Waiting messages

    /// Encoded messages of this side that wait for credit or room.
    var pending = SendQueues<Waiter, RoomWaiter>()
    /// Calls of the peer that can start.
    var ready = ReadyCalls()
    var answerFlow: AnswerFlow
    /// Running calls of the peer, without one-way messages that have their own credit.
    var runningCalls: Int32 = 0
    /// Calls and one-way messages of the peer that are entered and not finished.
    var unfinished: Int32 = 0
    /// The memory of the peer's messages that are not started.
    var waiting = WaitingMemory()
    /// The memory for the arguments of calls that arrived in the current read and have to wait.
    var waitingBytes = ByteBatch()

    init(_ settings: ConversationSettings) {
        self.settings = settings
        let limits = settings.limits
        sharing = Sharing(settings.sharesMemoryWhen == nil ? .never : .possible)
        credit = Credit(queuedCalls: limits.queuedCalls)
        answerFlow = AnswerFlow(limit: limits.unreadAnswers)
    }

    /// The number of frames written so far.
    var sent: UInt64 { outbox.written }

    var limits: ConnectionLimits {
        @inline(__always) _read { yield settings.limits }
    }

    /// Whether references in messages name the class of their object.
    var describesClasses: Bool { handshake.grants.features.contains(.classes) }

    /// Whether the last read left no work besides actions.
    var isSettled: Bool {
        ready.isEmpty && waitingBytes.isEmpty && credit.held.isEmpty && !(credit.isFresh && !pending.isEmpty)
    }

    mutating func enter(_ next: Phase) {
        assert(next.rawValue > phase.rawValue)
        phase = next
    }
}
