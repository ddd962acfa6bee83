/// A breadth-first search of every state that a variant can reach, up to the first fault.
struct Search {
    /// The number of states seen, and the steps that led to the first fault.
    struct Result {
        var states: Int
        var verdict: Verdict
        var trace: [String]
    }

    private let machine: Machine
    private var states: [PackedState] = []
    /// For each state, the state from which it was first reached.
    private var parents: [UInt32] = []
    /// A hash table with open addressing: state numbers plus one, or zero; at least twice as many places as states.
    private var table: [UInt32] = Array(repeating: 0, count: 1 << 16)

    init(_ variant: Variant) {
        machine = Machine(variant: variant)
    }

    /// Searches until it finds a fault of the expected kind, or any fault if none is expected, or has seen every state.
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
                // The search continues after a leak, but not after an unsafe state, which has no meaning.
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

    /// The steps from the beginning to state `index`, and the faulty step after it.
    ///
    /// Stored states may be mirror images. So the path is repeated from the first state, each time with a step that
    /// leads to the next state or its mirror image; the parties keep their names.
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
