import KeyedArchive

/// The answer to a call of the peer that later messages of the peer name, as their target or as an argument.
///
///     pending --(the method returns an object of this side)-----------> object
///     pending --(it returns one of the peer)--------------------------> passedOn
///     pending --(it throws, or its result is no object by reference)--> failed
///
/// Messages may come before the answer is known. Read and written under the connection's lock.
final class KeptAnswer: @unchecked Sendable {
    enum State {
        case pending
        case object
        /// Messages are sent back to the peer.
        case passedOn
        case failed(any Error)
    }

    /// What a call that has ended leaves of its result.
    enum Outcome {
        case object(AnyObject)
        case failed(any Error)
    }

    @exclusivity(unchecked) private(set) var state = State.pending
    /// Where messages to the answer go: to the object, or into the mailbox of a stand-in, which is busy until the answer
    /// is known.
    @exclusivity(unchecked) private(set) var export: Export
    /// Messages that have the answer as an argument and wait until it is known.
    @exclusivity(unchecked) private var dependents = Fifo<InboundCall>()
    /// Whether the peer has dropped it while it was pending.
    @exclusivity(unchecked) var isDropped = false
    /// Whether the call is answered only when the peer drops the answer.
    let isPromise: Bool

    init(isPromise: Bool) {
        self.isPromise = isPromise
        let mailbox = Mailbox()
        mailbox.isBusy = true
        export = Export(
            id: .none, object: StandIn.shared, messages: ClassMessages.unknown, lastMention: 0, mailbox: mailbox)
    }

    var isPending: Bool {
        if case .pending = state { true } else { false }
    }

    /// Whether messages wait for it that the peer has not cancelled.
    func isAwaited(isCancelled: (UInt32) -> Bool) -> Bool {
        export.mailbox.waiting.contains { !($0.question.map(isCancelled) ?? false) }
            || dependents.contains { !($0.question.map(isCancelled) ?? false) }
    }

    /// Has a message wait that has the answer as an argument.
    func delay(_ call: InboundCall) { dependents.append(call) }

    /// Makes the answer an object, to which its messages go from now on.
    func become(_ target: Export, isPassedOn: Bool) {
        state = isPassedOn ? .passedOn : .object
        export = target
    }

    func fail(_ error: any Error) { state = .failed(error) }

    /// Removes and returns the messages to the answer.
    func takeMessages() -> [InboundCall] { export.mailbox.waiting.removeAll() }

    /// Removes and returns the messages that have the answer as an argument.
    func takeDependents() -> [InboundCall] { dependents.removeAll() }

    /// The object of an answer that is not known.
    private final class StandIn: Sendable {
        static let shared = StandIn()
    }
}

extension MessageTables {
    /// The same tables with the objects of kept answers in the place of these answers.
    func resolved() -> MessageTables {
        MessageTables(
            references: references.map { ($0 as? KeptAnswer)?.export.object ?? $0 }, shapes: shapes, fault: fault)
    }
}
