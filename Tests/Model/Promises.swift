/// An exhaustive check of promises: messages that name the answer to an earlier call.
///
/// A caller runs the threads of a `Scenario`, in every interleaving, against a side that answers. In each state,
///   - a number on the wire means the same call for both sides, and a message names an answer that is kept;
///   - a message starts after those that its scenario lists;
///   - no message fails that its sender has not cancelled;
///   - no state with work left lacks a next step, and nothing is left at the end.
struct Promises {
    /// The rule, and variants in which the search must find a fault.
    enum Variant: String, CaseIterable {
        case rule = "promises"
        case numberAfterDrop = "promises, number free after the Drop"
        case numberAfterReturn = "promises, number free after the Return"
        case noEmptyReturn = "promises, no Return after the Drop"
        case dropCancels = "promises, a Drop always cancels"
        case dropIgnoresArguments = "promises, arguments do not count"
        case dropNeverCancels = "promises, a Drop never cancels"
        case cancelWithoutLook = "promises, a Cancel frees no answer"
        case settledPassWaiting = "promises, later messages pass those before"
        case arrivalOrder = "promises, mailbox in order of arrival"
        case markerByMiddle = "promises, marker answered by the middle"
        case shortCut = "promises, short cut to the own object"
        case unsentPromise = "promises, message before unsent promise"

        var expected: Verdict {
            switch self {
            case .rule: .safe
            case .noEmptyReturn, .dropNeverCancels, .cancelWithoutLook, .arrivalOrder: .stuck
            default: .unsafe
            }
        }
    }

    /// Where a call goes: to an object that is always free, to the one object that has a mailbox here, or to an answer.
    enum Target: Hashable { case root, object, answer(Int) }

    enum Kind: Hashable {
        case plain, oneWay
        /// The message that asks for the object itself.
        case marker
        case promise(Outcome)
    }

    /// What the method of a promise returns.
    enum Outcome: Hashable {
        /// The object of the side that answers.
        case theirs
        /// The caller's own object.
        case ours
        case fails
        /// Ends only when it is cancelled.
        case endless
    }

    struct Call {
        var target: Target
        var kind = Kind.plain
        var argument: Int?
        /// The calls that have to start before it.
        var after: [Int] = []

        /// Whether it needs the answer to another call.
        func names(_ call: Int) -> Bool { target == .answer(call) || argument == call }
        var isPromise: Bool { if case .promise = kind { true } else { false } }
    }

    enum Step {
        case send(Int)
        case drop(Int)
        case cancel(Int)
        /// Sends a message to the object that the promise has become, once the marker is answered.
        case direct(Int, marker: Int)
    }

    struct Scenario {
        var calls: [Call]
        var threads: [[Step]]
        /// The credit for calls that are not one-way.
        var credit = 1
    }

    enum Frame: Hashable {
        case call(Int, number: Int, names: [Int])
        case answer(Int, number: Int)
        case drop(Int, number: Int)
        case cancel(Int, number: Int)
        case credit, oneWayCredit
        /// A call that is sent back to the caller, its credit and its answer.
        case passedOn(Int), passedOnCredit, passedOnAnswer(Int)
    }

    /// How far a call is for its caller.
    enum Phase: Hashable { case unsent, queued, sent, answered, abandoned, over }

    /// How far a call is for the side that answers.
    enum Service: Hashable { case none, waiting, running, passing, known, failed, over }

    struct State: Hashable {
        var places: [Int]
        var queue: [Int] = []
        var credit: Int
        var oneWayCredit = 1
        var phases: [Phase]
        var unwanted: Set<Int> = []
        var numbers: [Int]
        /// The calls whose numbers are in use, for each side.
        var usedHere: [Int?]
        var usedThere: [Int?]
        var toServer: [Frame] = []
        var toCaller: [Frame] = []
        var services: [Service]
        var dropped: Set<Int> = []
        var cancelled: Set<Int> = []
        var started: Set<Int> = []
        /// The messages to each answer that is not known, and those to the two objects.
        var standIns: [[Int]]
        var mailbox: [Int] = []
        var passing: [Int] = []
        var passingCredit = 1
        var ownMailbox: [Int] = []
        var fault: Bool = false
    }

    let variant: Variant
    let scenario: Scenario

    private var begin: State {
        let count = scenario.calls.count
        return State(
            places: scenario.threads.map { _ in 0 }, credit: scenario.credit,
            phases: Array(repeating: .unsent, count: count),
            numbers: Array(repeating: -1, count: count), usedHere: Array(repeating: nil, count: count),
            usedThere: Array(repeating: nil, count: count), services: Array(repeating: .none, count: count),
            standIns: Array(repeating: [], count: count))
    }

    /// Every next state.
    func following(_ state: State) -> [State] {
        var next: [State] = []
        func step(_ change: (inout State) -> Void) {
            var changed = state
            change(&changed)
            next.append(changed)
        }
        for (thread, steps) in scenario.threads.enumerated() where state.places[thread] < steps.count {
            let place = state.places[thread]
            guard mayTake(steps[place], after: place > 0 ? steps[place - 1] : nil, state) else { continue }
            step { state in
                state.places[thread] += 1
                take(steps[place], &state)
            }
        }
        if !state.toServer.isEmpty { step { serverReceives($0.toServer.removeFirst(), &$0) } }
        if !state.toCaller.isEmpty { step { callerReceives($0.toCaller.removeFirst(), &$0) } }
        for call in scenario.calls.indices where state.services[call] == .running {
            guard case .promise(let outcome) = scenario.calls[call].kind else { continue }
            if outcome != .endless || state.cancelled.contains(call) { step { end(call, outcome, &$0) } }
        }
        if let first = state.mailbox.first, isReady(first, state) {
            step { start($0.mailbox.removeFirst(), &$0) }
        }
        if variant == .settledPassWaiting {
            for answer in scenario.calls.indices where state.services[answer] == .known {
                if !state.standIns[answer].isEmpty { step { start($0.standIns[answer].removeFirst(), &$0) } }
            }
        }
        if let first = state.passing.first {
            if variant == .markerByMiddle, scenario.calls[first].kind == .marker {
                step { state in
                    state.passing.removeFirst()
                    state.toCaller.append(.credit)
                    answer(first, &state)
                }
            } else if state.passingCredit > 0 {
                step { state in
                    state.passing.removeFirst()
                    state.passingCredit -= 1
                    state.services[first] = .passing
                    state.toCaller += [.credit, .passedOn(first)]
                }
            }
        }
        if !state.ownMailbox.isEmpty {
            step { state in
                let call = state.ownMailbox.removeFirst()
                noteStart(call, &state)
                state.toServer += [.passedOnCredit, .passedOnAnswer(call)]
            }
        }
        return next
    }

    private func isOver(_ state: State) -> Bool {
        zip(state.places, scenario.threads).allSatisfy { $0 == $1.count }
            && scenario.calls.indices.allSatisfy { state.phases[$0] == .over && state.services[$0] == .over }
            && state.usedHere.allSatisfy { $0 == nil } && state.usedThere.allSatisfy { $0 == nil }
    }

    /// Visits every reachable state, up to the first fault.
    func checkOne() -> (states: Int, verdict: Verdict) {
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

    /// Checks a variant in all scenarios, up to the first in which it has a fault.
    static func check(_ variant: Variant) -> (states: Int, verdict: Verdict) {
        var states = 0
        for scenario in Scenario.all {
            let result = Promises(variant: variant, scenario: scenario).checkOne()
            states += result.states
            if result.verdict != .safe { return (states, result.verdict) }
        }
        return (states, .safe)
    }

    func noteStart(_ call: Int, _ state: inout State) {
        if !state.started.isSuperset(of: scenario.calls[call].after) { state.fault = true }
        state.started.insert(call)
    }
}
