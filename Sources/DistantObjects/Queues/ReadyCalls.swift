/// Calls whose turn has come: those that want an answer and those that do not, each in order.
struct ReadyCalls {
    private var calls = Fifo<InboundCall>()
    private var oneWays = Fifo<InboundCall>()

    @inline(__always)
    var isEmpty: Bool { calls.isEmpty && oneWays.isEmpty }

    /// Whether some of them want no answer.
    var hasOneWays: Bool { !oneWays.isEmpty }

    mutating func append(_ call: consuming InboundCall) {
        if call.question == nil { oneWays.append(call) } else { calls.append(call) }
    }

    /// The next one: of both kinds the one that came first.
    @inline(__always)
    mutating func popFirst() -> InboundCall? {
        if oneWays.isEmpty { return calls.popFirst() }
        guard let call = calls.first, let oneWay = oneWays.first, call.number < oneWay.number else {
            return oneWays.popFirst()
        }
        return calls.popFirst()
    }

    /// The next one that wants no answer.
    mutating func popFirstOneWay() -> InboundCall? { oneWays.popFirst() }

    mutating func removeAll() -> [InboundCall] { calls.removeAll() + oneWays.removeAll() }
}
