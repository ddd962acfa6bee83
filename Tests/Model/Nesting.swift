/// An exhaustive check of calls that methods make while they serve a call of the same connection.
///
/// Each side sends a promise, and messages to it that use up the credit while they wait at the other side. The method of
/// the promise calls back: it sends a promise of its own, whose method may call back as well, and messages to that promise,
/// and waits for the answer to the last of them. No state with work left may lack a next step, and no side may send more without credit than the other
/// accepts.
struct Nesting {
    /// The rule, and variants in which the search must find a fault.
    enum Variant: String, CaseIterable {
        case rule = "nesting"
        case waits = "nesting, a method's calls wait for credit"
        case behind = "nesting, behind promises that wait"
        case unbounded = "nesting, without a bound"

        var expected: Verdict {
            switch self {
            case .rule: .safe
            case .waits, .behind: .stuck
            case .unbounded: .unsafe
            }
        }
    }

    struct Call {
        let sender: Int
        /// The promise that it is sent to; nil for an object that is always free.
        var promise: Int?
        var isPromise = false
        var isNested = false
        var isAwaited = false
        /// The calls that its method makes, one after the other.
        var calls: [Int] = []
    }

    enum Frame: Hashable {
        /// A call, and how many question numbers its sender has used.
        case call(Int, used: Int)
        case credit
        case answer(Int)
    }

    /// How far a call is at its receiver.
    enum Service: Hashable { case none, waiting, running(Int), calling(Int), over }

    struct Side: Hashable {
        var unsent: [Int]
        /// The calls that wait for credit: those of methods, and the others.
        var nested: [Int] = []
        var others: [Int] = []
        var credit = 1
        var open = 0
        var used = 0
        /// The question numbers that the other side has used, as far as this side knows.
        var known = 0
        /// Calls of the other side that have come and not started.
        var entered = 0
        var stream: [Frame] = []
    }

    struct State: Hashable {
        var sides: [Side]
        var services: [Service]
        var fault = false
    }

    let variant: Variant
    private var calls: [Call] = []
    private var roots: [[Int]] = [[], []]

    /// - Parameters:
    ///   - messages: The number of messages to each side's promise.
    ///   - depth: How deep methods call back.
    ///   - width: The number of messages to the promise of a method.
    init(variant: Variant, messages: Int, depth: Int, width: Int) {
        self.variant = variant
        for side in 0..<2 {
            let promise = add(promise: depth, width, from: side, isNested: false)
            roots[side] = [promise]
            for _ in 0..<messages { roots[side].append(add(Call(sender: side, promise: promise))) }
        }
    }

    private mutating func add(_ call: Call) -> Int {
        calls.append(call)
        return calls.count - 1
    }

    /// Adds a promise and the calls of its method.
    private mutating func add(promise depth: Int, _ width: Int, from side: Int, isNested: Bool) -> Int {
        var call = Call(sender: side, isPromise: true, isNested: isNested)
        if depth > 0 {
            let promise = add(promise: depth - 1, width, from: 1 - side, isNested: true)
            call.calls.append(promise)
            for number in 1...width {
                call.calls.append(
                    add(Call(sender: 1 - side, promise: promise, isNested: true, isAwaited: number == width)))
            }
        }
        return add(call)
    }

    private var begin: State {
        State(sides: roots.map { Side(unsent: $0) }, services: calls.map { _ in .none })
    }

    // MARK: Steps

    /// Every next state.
    func following(_ state: State) -> [State] {
        var next: [State] = []
        func step(_ change: (inout State) -> Void) {
            var changed = state
            change(&changed)
            next.append(changed)
        }
        for side in 0..<2 {
            if !state.sides[side].unsent.isEmpty {
                step { state in
                    let call = state.sides[side].unsent.removeFirst()
                    state.sides[side].others.append(call)
                    write(side, &state)
                }
            }
            if !state.sides[side].stream.isEmpty {
                step { state in
                    let frame = state.sides[side].stream.removeFirst()
                    receive(frame, 1 - side, &state)
                }
            }
        }
        for call in calls.indices {
            if case .running(let place) = state.services[call] { step { go(call, place, &$0) } }
        }
        return next
    }

    /// Continues a method.
    private func go(_ call: Int, _ place: Int, _ state: inout State) {
        let own = calls[call]
        guard place < own.calls.count else {
            state.services[call] = .over
            if !own.isPromise { state.sides[1 - own.sender].stream.append(.answer(call)) }
            // The messages to the promise start.
            for message in calls.indices where calls[message].promise == call && state.services[message] == .waiting {
                start(message, &state)
            }
            return
        }
        let nested = own.calls[place]
        // A method waits only for the last of its calls.
        state.services[call] = calls[nested].isAwaited ? .calling(place) : .running(place + 1)
        state.sides[1 - own.sender].nested.append(nested)
        write(1 - own.sender, &state)
    }

    /// Writes the calls that wait, as far as there is credit.
    private func write(_ side: Int, _ state: inout State) {
        while let first = state.sides[side].nested.first {
            let own = state.sides[side]
            let bound = variant == .waits ? 0 : variant == .unbounded ? calls.count : own.known
            guard own.credit > -bound, variant != .behind || own.others.isEmpty else { break }
            state.sides[side].nested.removeFirst()
            write(first, side, &state)
        }
        while state.sides[side].credit > 0, let first = state.sides[side].others.first {
            state.sides[side].others.removeFirst()
            write(first, side, &state)
        }
    }

    private func write(_ call: Int, _ side: Int, _ state: inout State) {
        state.sides[side].credit -= 1
        state.sides[side].open += 1
        state.sides[side].used = max(state.sides[side].used, state.sides[side].open)
        state.sides[side].stream.append(.call(call, used: state.sides[side].used))
    }

    private func receive(_ frame: Frame, _ side: Int, _ state: inout State) {
        switch frame {
        case .call(let call, let used):
            // One within the window; all others count towards the question numbers.
            state.sides[side].entered += 1
            if state.sides[side].entered > 1 + state.sides[side].used { state.fault = true }
            state.sides[side].known = max(state.sides[side].known, used)
            if let promise = calls[call].promise, state.services[promise] != .over {
                state.services[call] = .waiting
            } else {
                start(call, &state)
            }
        case .credit: state.sides[side].credit += 1
        case .answer(let call):
            state.sides[side].open -= 1
            // The method that waits for it goes on.
            for method in calls.indices {
                if case .calling(let place) = state.services[method], calls[method].calls[place] == call {
                    state.services[method] = .running(place + 1)
                }
            }
        }
        write(side, &state)
    }

    private func start(_ call: Int, _ state: inout State) {
        let side = 1 - calls[call].sender
        state.sides[side].entered -= 1
        state.sides[side].stream.append(.credit)
        state.services[call] = .running(0)
    }

    private func isOver(_ state: State) -> Bool {
        state.services.allSatisfy { $0 == .over }
            && state.sides.allSatisfy { $0.stream.isEmpty && $0.unsent.isEmpty && $0.entered == 0 && $0.credit == 1 }
    }

    /// Visits every reachable state, up to the first fault.
    private func checkOne() -> (states: Int, verdict: Verdict) {
        var seen: Set<State> = [begin]
        var open = [begin]
        while let state = open.popLast() {
            if state.fault { return (seen.count, .unsafe) }
            let next = following(state)
            if next.isEmpty, !isOver(state) { return (seen.count, .stuck) }
            for state in next where seen.insert(state).inserted { open.append(state) }
        }
        return (seen.count, .safe)
    }

    /// Checks a variant in all sizes, up to the first in which it has a fault.
    static func check(_ variant: Variant) -> (states: Int, verdict: Verdict) {
        var states = 0
        for (messages, depth, width) in [(1, 1, 1), (2, 1, 1), (1, 2, 1), (1, 1, 2)] {
            let result = Nesting(variant: variant, messages: messages, depth: depth, width: width).checkOne()
            states += result.states
            if result.verdict != .safe { return (states, result.verdict) }
        }
        return (states, .safe)
    }
}
