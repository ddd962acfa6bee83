import KeyedArchive
@_spi(Queues) import PortTransport

// The bound on the memory of messages that wait to be started.
//
//     a call comes ------------(there is room, or nothing waits)--> it waits
//     a call comes ------------(there is none)--------------------> it is refused at once, out of turn
//     a one-way message comes -(there is none)--------------------> it waits, and calls that wait are refused instead
//
// One-way messages are not refused, because nobody would know. Their credit is returned only as far as there is room for the
// messages that it allows.
extension Conversation {
    /// Whether a message would make the memory of the waiting messages exceed the limit.
    ///
    /// One message may always wait, whatever its size. A message that takes no memory here has room: the bytes of a
    /// message in fragments are in the window.
    @inline(__always)
    mutating func lacksRoom(for size: Int) -> Bool {
        waiting.bytes &+ size > limits.waitingBytes && lacksRoomNow(for: size)
    }

    @inline(never)
    private mutating func lacksRoomNow(for size: Int) -> Bool {
        if waiting.laidAside > 0 { waiting.laidAside = laidAside.countKept() }
        return size > 0 && waiting.bytes > 0 && waiting.bytes + size > limits.waitingBytes
    }

    /// The error of a call for which there is no room.
    private var noRoom: ConnectionError {
        ConnectionError(
            .overloaded, "more than \(limits.waitingBytes) bytes of messages wait to be started; the call was not run",
            mayHaveRun: false)
    }

    /// Refuses a call that has just come.
    ///
    /// The call does not wait for its turn: there is no room for another call that waits.
    @inline(never)
    mutating func refuseAtOnce(_ call: InboundCall, _ actions: inout [Action<Host>]) {
        call.isOutOfTurn = true
        release(call.drop(noRoom), &actions)
        ready.append(call)
    }

    /// Refuses calls that wait, the latest ones first, until there is room for a one-way message that has just come.
    ///
    /// This makes more room than the message takes, so that a peer cannot have all waiting calls searched for each
    /// message. The refused calls are answered when it is their turn.
    @inline(never)
    mutating func makeRoomForOneWay(_ actions: inout [Action<Host>]) {
        guard waiting.calls > 0 else { return }
        let goal = limits.waitingBytes - limits.waitingBytes / 8
        for call in waitingCalls.sorted(by: { $0.number > $1.number }) {
            guard waiting.bytes > goal else { break }
            drop(call, &actions)
        }
    }

    /// The calls that take memory and are not started.
    private var waitingCalls: [InboundCall] {
        mutating get {
            var calls: [InboundCall] = []
            let add = { (call: InboundCall) in if call.question != nil, call.memory > 0 { calls.append(call) } }
            exports.forEachWaiting(add)
            answers.forEachWaiting(add)
            ready.forEachCall(add)
            return calls
        }
    }

    /// Drops the memory of a call that waits, and has the call fail.
    private mutating func drop(_ call: InboundCall, _ actions: inout [Action<Host>]) {
        waiting.leave(Int(call.memory), isOneWay: false)
        if let question = call.question { endUses(by: question, &actions) }
        release(call.drop(noRoom), &actions)
        makeNextReady(of: call.export)
    }

    private func release(_ dropped: (tables: MessageTables?, largeBytes: Int), _ actions: inout [Action<Host>]) {
        if let tables = dropped.tables { actions.append(.release(tables)) }
        giveBack(dropped.largeBytes, &actions)
    }

    /// The credit for one-way messages that there is room for.
    ///
    /// A few more are allowed in any case: the messages that wait may wait for others.
    mutating func oneWayRoom() -> Int {
        if waiting.laidAside > 0 { waiting.laidAside = laidAside.countKept() }
        return max(
            (limits.waitingBytes - waiting.bytes) / ProtocolLimits.wholeFrame,
            ProtocolLimits.fewestOneWays - waiting.oneWayCount)
    }
}
