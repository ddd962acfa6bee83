/// How many messages each side may still begin.
///
/// A message takes one when it is sent. Calls give it back when they start, one-way messages when they have ended. Both kinds
/// share one count unless both sides separate them.
struct Credit {
    /// A frame that is due now, because the peer has used much of what it has.
    enum Due {
        case none, calls, oneWays
    }

    /// Messages that this side may still begin.
    private(set) var calls = 0
    /// As `calls`, for one-way messages that have a count of their own.
    private(set) var oneWays: Int?
    /// Messages that the peer may still begin.
    private var peerCalls: Int
    private var peerOneWays: Int?
    /// What was given back and the peer was not told of yet.
    private(set) var owedCalls = 0
    private(set) var owedOneWays = 0
    /// Nothing is given back for calls before the peer has read more of its answers.
    private(set) var isHeld = false
    /// The peer has given something back since messages that wait were looked at.
    private(set) var isFresh = false

    init(queuedCalls: Int) {
        peerCalls = queuedCalls
    }

    /// Whether one-way messages have a count of their own.
    var separatesOneWays: Bool { oneWays != nil }

    /// Both sides have said Hello.
    mutating func begin(_ grants: PeerGrants, runningCalls: Int) {
        calls = grants.queuedCalls
        guard grants.features & ProtocolLimits.separatesOneWays != 0 else { return }
        oneWays = grants.runningCalls
        peerOneWays = runningCalls
    }

    // MARK: This side's

    @inline(__always)
    func mayBegin(isOneWay: Bool) -> Bool { (isOneWay ? oneWays ?? calls : calls) > 0 }

    mutating func use(isOneWay: Bool) {
        if isOneWay, let left = oneWays { oneWays = left - 1 } else { calls -= 1 }
    }

    /// The peer gives calls back.
    mutating func give(calls amount: UInt64, _ grants: PeerGrants) throws(ProtocolViolation) {
        guard amount <= UInt64(grants.queuedCalls - calls) else {
            throw ProtocolViolation(.overLimit, "more call credit is given back than was used")
        }
        calls += Int(amount)
        isFresh = true
    }

    /// The peer gives one-way messages back.
    mutating func give(oneWays amount: UInt64, _ grants: PeerGrants) throws(ProtocolViolation) {
        guard let left = oneWays else {
            throw ProtocolViolation(.unknownName, "a Credit for one-way messages, which have none of their own")
        }
        guard amount <= UInt64(grants.runningCalls - left) else {
            throw ProtocolViolation(.overLimit, "more credit for one-way messages is given back than was used")
        }
        oneWays = left + Int(amount)
        isFresh = true
    }

    /// Messages that wait are looked at.
    mutating func takeFresh() { isFresh = false }

    // MARK: The peer's

    /// Whether a message of the peer counts as a one-way message, which is given back when it has ended.
    func isCountedApart(isOneWay: Bool) -> Bool { isOneWay && peerOneWays != nil }

    /// The peer has begun a message.
    ///
    /// What it is owed is due at once when it has none left: what it waits to send need not be for the objects that those in
    /// the queue wait for.
    mutating func usedByPeer(isOneWay: Bool, queuedCalls: Int) throws(ProtocolViolation) -> Due {
        guard isOneWay, let left = peerOneWays else {
            guard peerCalls > 0 else {
                throw ProtocolViolation(.overLimit, "more than the \(queuedCalls) calls granted are queued")
            }
            peerCalls -= 1
            return peerCalls == 0 && owedCalls > 0 && !isHeld ? .calls : .none
        }
        guard left > 0 else {
            throw ProtocolViolation(.overLimit, "more one-way messages are under way than were granted")
        }
        peerOneWays = left - 1
        return left == 1 && owedOneWays > 0 ? .oneWays : .none
    }

    /// A call of the peer has started.
    ///
    /// A frame is due for half the queue at once, so that most calls cost none.
    mutating func callStarted(queuedCalls: Int) -> Due {
        owedCalls += 1
        return (owedCalls >= max(1, queuedCalls / 2) || peerCalls == 0) && !isHeld ? .calls : .none
    }

    /// A one-way message of the peer has ended.
    mutating func oneWayEnded(runningCalls: Int) -> Due {
        guard let left = peerOneWays else { return .none }
        owedOneWays += 1
        return owedOneWays >= max(1, runningCalls / 2) || left == 0 ? .oneWays : .none
    }

    /// Keeps back what is owed for calls, until `takeOwedCalls`.
    mutating func hold() { isHeld = true }

    /// What the frame that is written now gives back.
    mutating func takeOwedCalls() -> Int {
        defer { owedCalls = 0 }
        isHeld = false
        peerCalls += owedCalls
        return owedCalls
    }

    /// As `takeOwedCalls`, for one-way messages.
    mutating func takeOwedOneWays() -> Int {
        defer { owedOneWays = 0 }
        if let left = peerOneWays { peerOneWays = left + owedOneWays }
        return owedOneWays
    }
}
