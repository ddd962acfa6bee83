/// A breadth-first search of every state a variant can reach, up to the first fault.
struct Search {
    /// What was found: the number of states seen, and how the first fault came about.
    struct Result {
        var states: Int
        var verdict: Verdict
        var trace: [String]
    }

    private let machine: Machine
    private var states: [PackedState] = []
    /// The state each state was first reached from.
    private var parents: [UInt32] = []
    /// Open addressing: the number of a state and one, or zero; twice as many places as states at least.
    private var table: [UInt32] = Array(repeating: 0, count: 1 << 16)

    init(_ variant: Variant) {
        machine = Machine(variant: variant)
    }

    /// Searches until a fault of the expected kind is found, or any fault where none is expected, or every state is
    /// seen.
    mutating func run() -> Result {
        let expected = machine.variant.expected
        var other: (verdict: Verdict, index: Int)?
        insert(PackedState(State()), parent: 0)
        var next = 0
        while next < states.count {
            let parent = UInt32(next)
            var found: Verdict?
            machine.forEachStep(from: states[next].unpacked) { _, _, outcome in
                if let fault = outcome.fault, found != expected { found = fault.verdict }
                // What leaks goes on; what is unsafe has no meaning any more.
                if outcome.fault?.verdict != .unsafe { insert(PackedState(outcome.state), parent: parent) }
            }
            if let found {
                other = other ?? (found, next)
                if found == expected || expected == .safe {
                    return Result(states: states.count, verdict: found, trace: trace(to: next, found))
                }
            }
            next += 1
        }
        if let other {
            return Result(states: states.count, verdict: other.verdict, trace: trace(to: other.index, other.verdict))
        }
        return Result(states: states.count, verdict: .safe, trace: [])
    }

    private mutating func insert(_ state: PackedState, parent: UInt32) {
        var place = Int(truncatingIfNeeded: state.hash) & (table.count - 1)
        while table[place] != 0 {
            if states[Int(table[place]) - 1] == state { return }
            place = (place + 1) & (table.count - 1)
        }
        states.append(state)
        parents.append(parent)
        table[place] = UInt32(states.count)
        if states.count * 2 > table.count { grow() }
    }

    private mutating func grow() {
        table = Array(repeating: 0, count: table.count * 2)
        for (number, state) in states.enumerated() {
            var place = Int(truncatingIfNeeded: state.hash) & (table.count - 1)
            while table[place] != 0 { place = (place + 1) & (table.count - 1) }
            table[place] = UInt32(number + 1)
        }
    }

    /// The steps from the beginning to state `index`, and the faulty one after it.
    ///
    /// The states stored may be mirror images, so the way is walked again from the first state, each time with a step
    /// that leads to the next state or its mirror image; the parties keep their names.
    private func trace(to index: Int, _ verdict: Verdict) -> [String] {
        var path = [index]
        while let last = path.last, last != 0 { path.append(Int(parents[last])) }
        var state = State()
        var lines: [String] = []
        for index in path.reversed().dropFirst() {
            var following: State?
            machine.forEachStep(from: state) { party, step, outcome in
                guard following == nil, outcome.fault?.verdict != .unsafe, PackedState(outcome.state) == states[index]
                else { return }
                lines.append(step.description(by: party, in: state))
                following = outcome.state
            }
            if let following { state = following }
        }
        var isFound = false
        machine.forEachStep(from: state) { party, step, outcome in
            guard !isFound, let fault = outcome.fault, fault.verdict == verdict else { return }
            isFound = true
            lines.append(step.description(by: party, in: state) + ": " + fault.sentence)
        }
        return lines
    }
}
