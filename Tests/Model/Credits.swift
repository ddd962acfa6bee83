/// An exhaustive check of the credit for calls and one-way messages.
///
/// Two sides send each other one-way messages whose methods call back. Each side has a few tasks, each of which sends
/// one-way messages. The method of such a message calls the sender once before it ends; in some variants it sends a
/// one-way message instead. Calls are answered as soon as they start. No state with work left may lack a next step.
struct Credits {
    /// The rule, and variants in which the search must find a fault.
    enum Variant: String, CaseIterable {
        case rule = "credit"
        case nestedOneWayThrows = "credit, methods send one-way messages"
        case onePool = "credit, one pool for both"
        case oneQueue = "credit, one queue at the sender"
        case parking = "credit, parking at the receiver"
        case nestedWaits = "credit, a nested one-way message waits"

        var expected: Verdict { self == .rule || self == .nestedOneWayThrows ? .safe : .stuck }
        /// A method sends a one-way message instead of a call.
        var nestsOneWays: Bool { self == .nestedOneWayThrows || self == .nestedWaits }
    }

    /// A message in transit, sent by a side's task or by a method.
    enum Frame: Hashable {
        case oneWay(nested: Bool)
        case call
        case answer
        case callCredit
        case oneWayCredit
    }

    /// One side: the messages that it sends and serves.
    struct Side: Hashable {
        /// The number of messages that its tasks still have to send.
        var left: Int
        /// The messages that wait for credit, in order for each kind.
        var waiting: [Frame] = []
        var callCredit: Int
        var oneWayCredit: Int
        /// The messages in transit to the other side.
        var stream: [Frame] = []
        /// Methods of one-way messages that have not sent anything yet, and methods that wait for what they sent.
        var started = 0
        var calling = 0
        /// One-way messages that have arrived and are not started.
        var parked: [Frame] = []
        /// Calls of the other side that wait for room to run.
        var calls = 0
    }

    struct State: Hashable {
        var sides: [Side]
    }

    let variant: Variant
    /// The number of one-way messages of each side, more than may be in transit.
    let messages: Int

    /// The credit for calls and for one-way messages that the other side grants.
    private static let (calls, oneWays) = (1, 1)
    /// How many methods may run at a time in the variant that parks messages.
    private static let cap = 1

    private var begin: State {
        let pool = variant == .onePool ? Self.oneWays : Self.calls
        let side = Side(left: messages, callCredit: pool, oneWayCredit: variant == .onePool ? 0 : Self.oneWays)
        return State(sides: [side, side])
    }

    // MARK: Sending

    /// Takes credit for a message; returns whether there was any.
    private func takeCredit(_ frame: Frame, _ side: inout Side) -> Bool {
        // When messages are parked, their credit is room in a queue, which never runs out here.
        if case .oneWay = frame {
            if variant == .parking { return true }
            if variant != .onePool {
                guard side.oneWayCredit > 0 else { return false }
                side.oneWayCredit -= 1
                return true
            }
        }
        guard side.callCredit > 0 else { return false }
        side.callCredit -= 1
        return true
    }

    private func isOneWay(_ frame: Frame) -> Bool { if case .oneWay = frame { true } else { false } }

    private func send(_ frame: Frame, _ side: inout Side) {
        let isBehind =
            variant == .oneQueue || variant == .onePool
            ? !side.waiting.isEmpty : side.waiting.contains { isOneWay($0) == isOneWay(frame) }
        if !isBehind, takeCredit(frame, &side) { side.stream.append(frame) } else { side.waiting.append(frame) }
    }

    /// Adds returned credit.
    private func sendWaiting(_ side: inout Side) -> Int {
        var resumed = 0
        var kept: [Frame] = []
        for frame in side.waiting {
            let isBehind =
                variant == .oneQueue || variant == .onePool
                ? !kept.isEmpty : kept.contains { isOneWay($0) == isOneWay(frame) }
            if !isBehind, takeCredit(frame, &side) {
                side.stream.append(frame)
                if frame == .oneWay(nested: true) { resumed += 1 }
            } else {
                kept.append(frame)
            }
        }
        side.waiting = kept
        return resumed
    }

    // MARK: Steps

    /// Calls the closure for every possible next state.
    func following(_ state: State) -> [State] {
        var next: [State] = []
        for index in 0..<2 {
            let own = state.sides[index]
            // A task sends its next message only after the one before has been sent.
            if own.left > 0, !own.waiting.contains(.oneWay(nested: false)) {
                next.append(
                    step(state) { sides in
                        sides[index].left -= 1
                        send(.oneWay(nested: false), &sides[index])
                    })
            }
            if own.started > 0 { next.append(step(state) { method(&$0, index) }) }
            if let first = own.stream.first {
                next.append(
                    step(state) { sides in
                        sides[index].stream.removeFirst()
                        receive(first, &sides, 1 - index)
                    })
            }
        }
        return next
    }

    private func step(_ state: State, _ change: (inout [Side]) -> Void) -> State {
        var next = state
        change(&next.sides)
        return next
    }

    /// Continues a method: it calls back, or sends a one-way message.
    private func method(_ sides: inout [Side], _ index: Int) {
        sides[index].started -= 1
        guard variant.nestsOneWays else {
            sides[index].calling += 1
            send(.call, &sides[index])
            return
        }
        var side = sides[index]
        if !side.waiting.contains(where: isOneWay), takeCredit(.oneWay(nested: true), &side) {
            side.stream.append(.oneWay(nested: true))
            sides[index] = side
            end(&sides, index)
        } else if variant == .nestedWaits {
            side.waiting.append(.oneWay(nested: true))
            sides[index] = side
        } else {
            // The method gets an error because there is no room, and ends.
            end(&sides, index)
        }
    }

    /// Ends the method of a one-way message: returns its credit and frees its place.
    private func end(_ sides: inout [Side], _ index: Int) {
        if variant != .onePool, variant != .parking { sides[index].stream.append(.oneWayCredit) }
        if variant == .parking, !sides[index].parked.isEmpty {
            sides[index].parked.removeFirst()
            sides[index].started += 1
        }
    }

    private func running(_ side: Side) -> Int { side.started + side.calling }

    private func receive(_ frame: Frame, _ sides: inout [Side], _ index: Int) {
        switch frame {
        case .oneWay(let nested):
            if variant == .parking, running(sides[index]) >= Self.cap || !sides[index].parked.isEmpty {
                sides[index].parked.append(frame)
            } else if nested {
                // This method sends nothing.
                end(&sides, index)
            } else {
                sides[index].started += 1
            }
        case .call:
            // A call waits behind parked messages: both go to one object, whose messages start in order.
            if variant == .parking, !sides[index].parked.isEmpty {
                sides[index].calls += 1
            } else {
                answer(&sides, index)
            }
        case .answer:
            sides[index].calling -= 1
            if variant == .onePool { sides[index].stream.append(.callCredit) }
            end(&sides, index)
            while variant == .parking, sides[index].parked.isEmpty, sides[index].calls > 0 {
                sides[index].calls -= 1
                answer(&sides, index)
            }
        case .callCredit:
            sides[index].callCredit += 1
            go(&sides, index)
        case .oneWayCredit:
            sides[index].oneWayCredit += 1
            go(&sides, index)
        }
    }

    /// Starts a call, which returns its credit, and answers it.
    private func answer(_ sides: inout [Side], _ index: Int) {
        sides[index].stream += [.callCredit, .answer]
    }

    private func go(_ sides: inout [Side], _ index: Int) {
        for _ in 0..<sendWaiting(&sides[index]) { end(&sides, index) }
    }

    private func isOver(_ state: State) -> Bool {
        state.sides.allSatisfy {
            $0.left == 0 && $0.waiting.isEmpty && $0.started == 0 && $0.calling == 0 && $0.parked.isEmpty
                && $0.calls == 0
        }
    }

    /// Visits every reachable state.
    func check() -> (states: Int, verdict: Verdict) {
        var seen: Set<State> = [begin]
        var open = [begin]
        while let state = open.popLast() {
            let next = following(state)
            if next.isEmpty, !isOver(state) { return (seen.count, .stuck) }
            for state in next where seen.insert(state).inserted { open.append(state) }
        }
        return (seen.count, .safe)
    }
}
