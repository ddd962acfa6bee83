@_spi(Queues) import PortTransport

/// Calls and one-way messages of the peer that can start, each kind in order.
struct ReadyCalls: ~Copyable {
    private var calls = Ring<InboundCall>()
    private var oneWays = Ring<InboundCall>()

    @inline(__always)
    var isEmpty: Bool { calls.isEmpty && oneWays.isEmpty }

    /// Whether one-way messages can start.
    var hasOneWays: Bool { !oneWays.isEmpty }

    mutating func append(_ call: consuming InboundCall) {
        if call.question == nil { oneWays.append(call) } else { calls.append(call) }
    }

    /// Removes and returns the call or one-way message that came first.
    @inline(__always)
    mutating func popFirst() -> InboundCall? {
        if oneWays.isEmpty { return calls.popFirst() }
        guard let call = calls.first, let oneWay = oneWays.first, call.number < oneWay.number else {
            return oneWays.popFirst()
        }
        return calls.popFirst()
    }

    mutating func popFirstOneWay() -> InboundCall? { oneWays.popFirst() }

    /// Calls `body` with each call, without the one-way messages.
    func forEachCall(_ body: (InboundCall) -> Void) { for index in 0..<calls.count { body(calls[index]) } }

    mutating func removeAll() -> [InboundCall] { calls.removeAll() + oneWays.removeAll() }
}
