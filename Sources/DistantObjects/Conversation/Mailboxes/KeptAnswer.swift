import KeyedArchive
@_spi(Queues) import PortTransport

/// The answer to a call of the peer that later messages of the peer name, as their target or as an argument.
///
///     pending --(the method returns an object of this side)-----------> object
///     pending --(it returns one of the peer)--------------------------> passedOn
///     pending --(it throws, or its result is no object by reference)--> failed
///
/// Messages may come before the answer is known. The state of the object is read and written under the connection's
/// lock.
final class KeptAnswer: @unchecked Sendable {
    enum State {
        case pending
        /// Messages go to the object.
        case object(Export)
        /// The answer is an object of the peer. Messages to it are *passed on*: this side sends them back to the peer.
        case passedOn(Export)
        case failed(any Error)
    }

    /// The part of an ended call's result that later messages need.
    enum Outcome {
        case object(AnyObject)
        case failed(any Error)
    }

    @exclusivity(unchecked) private(set) var state = State.pending
    /// Messages to the answer, until it is known.
    @exclusivity(unchecked) private var messages = Ring<InboundCall>()
    /// Messages that are the first of their mailbox, have the answer as an argument and wait until it is known.
    @exclusivity(unchecked) private var dependents = Ring<InboundCall>()
    /// How often messages name the answer, without messages that were cancelled.
    ///
    /// The uses are counted until the answer is known.
    @exclusivity(unchecked) var uses = 0
    /// Whether the peer has dropped the answer while it was pending.
    @exclusivity(unchecked) var isDropped = false
    /// The number of the question that the answer belongs to.
    let question: UInt32
    /// Whether the call, unless it fails, is answered only when the peer drops the answer.
    let isPromise: Bool

    private init(_ question: UInt32, isPromise: Bool) {
        self.question = question
        self.isPromise = isPromise
    }

    /// The answer that a call leaves for later messages; nil if the call leaves none.
    ///
    /// It is no initialiser, because one that fails has allocated the object by then.
    static func left(by question: UInt32, _ flags: CallFlags) -> KeptAnswer? {
        guard flags.contains(.keepAnswer), !flags.contains(.oneWay) else { return nil }
        return KeptAnswer(question, isPromise: flags.contains(.promise))
    }

    var isPending: Bool {
        if case .pending = state { true } else { false }
    }

    /// Whether nobody needs the answer: the peer has dropped it while it was pending, and no message that names it
    /// waits.
    var isUnneeded: Bool { isPending && isDropped && uses == 0 }

    /// The object that messages with the answer as an argument get.
    var object: AnyObject? {
        switch state {
        case .object(let export), .passedOn(let export): export.object
        case .pending, .failed: nil
        }
    }

    /// The target of messages to the answer.
    ///
    /// While the answer is not known, and after it has failed, this is a stand-in: it has no messages, and its mailbox
    /// is empty.
    func target() -> Export {
        switch state {
        case .object(let export), .passedOn(let export): export
        case .pending, .failed:
            Export(
                id: .none, object: StandIn.shared, messages: ClassMessages.unknown, lastMention: 0, mailbox: Mailbox())
        }
    }

    /// Whether messages are for an answer that is not known yet.
    static func isPending(_ target: Export) -> Bool { target.object === StandIn.shared }

    /// Has a message to the answer wait.
    func delay(message call: InboundCall) { messages.append(call) }

    /// Has a message wait that has the answer as an argument.
    func delay(dependent call: InboundCall) {
        call.place.delay()
        dependents.append(call)
    }

    /// Makes the answer known.
    func settle(_ state: State) { self.state = state }

    /// Calls `body` with each message that waits for the answer, or for the object of the peer that the answer is.
    func forEachWaiting(_ body: (InboundCall) -> Void) {
        for index in 0..<messages.count { body(messages[index]) }
        if case .passedOn(let export) = state { export.mailbox.forEachWaiting(body) }
    }

    func popMessage() -> InboundCall? { messages.popFirst() }

    func takeMessages() -> [InboundCall] { messages.removeAll() }

    /// Removes and returns the messages that have the answer as an argument.
    func takeDependents() -> [InboundCall] {
        let calls = dependents.removeAll()
        for call in calls { call.place.answerIsKnown() }
        return calls
    }

    /// The object of an answer that is not known.
    private final class StandIn: Sendable {
        static let shared = StandIn()
    }
}

extension MessageTables {
    /// Calls `body` with each answer of this side that is among the references, once for each reference.
    func forEachAnswer(_ body: (KeptAnswer) -> Void) {
        guard namesAnswers else { return }
        for case let answer as KeptAnswer in references { body(answer) }
    }

    /// Puts the objects of answers in the place of these answers, all of which are known.
    func resolveAnswers() { resolveAnswers { ($0 as? KeptAnswer)?.object } }
}
