/// The number of messages that each side may still send.
///
/// A message uses one credit, and its receiver returns that credit. If both sides agree on separate counts, the credit
/// of a call is returned when the call starts, and that of a one-way message when the message has ended. Without the
/// agreement both kinds share one count, and both return their credit when they start.
///
/// A call that is passed on (see `SendQueues`), or that a method makes while it serves a call of the peer, is sent
/// without credit if there is none, and the count falls below zero. If such a call waited, both sides could wait for
/// each other: all credit may be used by calls that wait for the answers to others.
struct Credit {
    /// The credit that is due now, because the peer has used much of what it has.
    enum Due {
        case none, calls, oneWays
    }

    /// The kinds of messages that credit is for.
    struct Kinds: OptionSet {
        let rawValue: UInt8

        static let calls = Kinds(rawValue: 1)
        static let oneWays = Kinds(rawValue: 2)
    }

    // No count comes near what 32 bits hold: see `PeerGrants.mostCredit` and `ConnectionLimits.clamp()`.

    /// Messages that this side may still send; negative while calls are sent without credit.
    private(set) var calls: Int32 = 0
    /// One-way messages that this side may still send; nil if they share the count of `calls`.
    private(set) var oneWays: Int32?
    /// How far below zero `calls` may fall.
    private var borrowable: Int32 = 0
    /// Messages that the peer may still send; negative while it sends calls without credit.
    private var peerCalls: Int32
    private var peerOneWays: Int32?
    /// Credit that this side *owes* the peer: it is to be returned, but no frame was written yet.
    private var owedCalls: Int32 = 0
    private var owedOneWays: Int32 = 0
    /// The kinds whose credit is held back until the peer has read more of its answers.
    private(set) var held: Kinds = []
    /// Whether the peer has returned credit, or accepts more calls without credit, since the queued messages were last
    /// checked.
    private(set) var isFresh = false

    init(queuedCalls: Int) {
        peerCalls = Int32(queuedCalls)
    }

    /// Whether one-way messages have their own count.
    var separatesOneWays: Bool { oneWays != nil }

    /// Sets the initial credit, after both sides have said Hello.
    mutating func begin(_ grants: PeerGrants, runningCalls: Int) {
        calls = grants.queuedCalls
        guard grants.features.contains(.oneWayCredit) else { return }
        oneWays = grants.runningCalls
        peerOneWays = Int32(runningCalls)
    }

    // MARK: This side's

    @inline(__always)
    func mayBegin(isOneWay: Bool) -> Bool { (isOneWay ? oneWays ?? calls : calls) > 0 }

    /// Whether a call that needs no credit may be sent.
    var mayBorrow: Bool { calls > -borrowable }

    /// The number of one-way messages that may be under way; if both kinds share one count, together with the calls.
    @inline(__always)
    func oneWaysUnderWay(_ grants: PeerGrants) -> Int {
        if let left = oneWays { return Int(grants.runningCalls - left) }
        return Int(grants.queuedCalls) - Int(calls)
    }

    mutating func use(isOneWay: Bool) {
        if isOneWay, let left = oneWays { oneWays = left - 1 } else { calls -= 1 }
    }

    /// Adds credit for calls that the peer returns.
    mutating func give(calls amount: UInt64, _ grants: PeerGrants) throws(ProtocolViolation) {
        guard amount <= UInt64(grants.queuedCalls - calls) else {
            throw ProtocolViolation(.overLimit, "more call credit is given back than was used")
        }
        calls += Int32(amount)
        isFresh = true
    }

    /// Adds credit for one-way messages that the peer returns.
    mutating func give(oneWays amount: UInt64, _ grants: PeerGrants) throws(ProtocolViolation) {
        guard let left = oneWays else {
            throw ProtocolViolation(.unknownName, "a Credit for one-way messages, which have none of their own")
        }
        guard amount <= UInt64(grants.runningCalls - left) else {
            throw ProtocolViolation(.overLimit, "more credit for one-way messages is given back than was used")
        }
        oneWays = left + Int32(amount)
        isFresh = true
    }

    /// Notes that the peer has used more question numbers than ever before: it accepts so many calls without credit.
    mutating func peerHasAsked(_ numbers: Int) {
        borrowable = Int32(clamping: numbers)
        isFresh = true
    }

    /// Notes that the queued messages are being checked.
    mutating func takeFresh() { isFresh = false }

    // MARK: The peer's

    /// Whether a message of the peer uses the separate credit of one-way messages.
    func isCountedApart(isOneWay: Bool) -> Bool { isOneWay && peerOneWays != nil }

    /// Counts a message that the peer has sent.
    ///
    /// If the peer has no credit left, the owed credit is due at once: the peer's next message may be for an object
    /// that is free.
    ///
    /// - Parameter asked: The number of question numbers that this side has used. So many calls the peer may send
    ///   without credit.
    mutating func usedByPeer(isOneWay: Bool, queuedCalls: Int, asked: Int) throws(ProtocolViolation) -> Due {
        guard isOneWay, let left = peerOneWays else {
            guard peerCalls > 0 || !isOneWay && Int(peerCalls) > -asked else {
                throw ProtocolViolation(.overLimit, "more than the \(queuedCalls) calls granted are queued")
            }
            peerCalls -= 1
            return peerCalls <= 0 && owedCalls > 0 && !held.contains(.calls) ? .calls : .none
        }
        guard left > 0 else {
            throw ProtocolViolation(.overLimit, "more one-way messages are under way than were granted")
        }
        peerOneWays = left - 1
        return left == 1 && owedOneWays > 0 && !held.contains(.oneWays) ? .oneWays : .none
    }

    /// Counts a call of the peer that has started.
    ///
    /// Credit is due for half the queue at a time, so that most calls cause no frame.
    mutating func callStarted(queuedCalls: Int) -> Due {
        owedCalls += 1
        let isDue = Int(owedCalls) >= max(1, queuedCalls / 2) || peerCalls <= 0
        return isDue && !held.contains(.calls) ? .calls : .none
    }

    /// Counts a one-way message of the peer that has ended.
    mutating func oneWayEnded(runningCalls: Int) -> Due {
        guard let left = peerOneWays else { return .none }
        owedOneWays += 1
        let isDue = Int(owedOneWays) >= max(1, runningCalls / 2) || left == 0
        return isDue && !held.contains(.oneWays) ? .oneWays : .none
    }

    /// Holds back the credit of one kind until the credit is taken for a frame.
    mutating func hold(_ kind: Kinds) { held.insert(kind) }

    /// Takes the credit for calls that the next frame returns.
    mutating func takeOwedCalls() -> Int {
        defer { owedCalls = 0 }
        held.remove(.calls)
        peerCalls += owedCalls
        return Int(owedCalls)
    }

    /// Whether the peer has no credit for one-way messages although some is owed, because there was no room for more
    /// messages.
    @inline(__always)
    var isOneWayCreditOwed: Bool { owedOneWays > 0 && peerOneWays == 0 && !held.contains(.oneWays) }

    /// Takes the credit for one-way messages that the next frame returns.
    ///
    /// If the peer has credit left, a small amount is not worth a frame.
    ///
    /// - Parameters:
    ///   - most: The most messages that may be granted.
    ///   - runningCalls: The most one-way messages that may be under way.
    /// - Returns: 0 if no frame has to be written.
    mutating func takeOwedOneWays(granting most: Int, of runningCalls: Int) -> Int {
        held.remove(.oneWays)
        guard let left = peerOneWays else { return 0 }
        let amount = min(Int(owedOneWays), most - Int(left))
        guard amount > 0, amount == owedOneWays || left == 0 || amount >= runningCalls / 4 else { return 0 }
        owedOneWays -= Int32(amount)
        peerOneWays = left + Int32(amount)
        return amount
    }
}
