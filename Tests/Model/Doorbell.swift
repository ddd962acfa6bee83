/// An exhaustive check of how the two sides of a ring in shared memory wake each other.
///
/// The processors delay stores until a fence (TSO). A writer writes messages, some of which are answers. The other
/// side's loop reads them, and so does a thread that waits for one of the answers. In no state may all of them sleep
/// while a message is unread, or while the thread's answer has been read or its call given up.
struct Doorbell {
    /// The protocol, and variants in which the search must find a fault.
    enum Variant: String, CaseIterable {
        case doorbells = "doorbells"
        case writerWithoutFence = "doorbells, writer looks without a fence"
        case readerWithoutLook = "doorbells, reader sleeps without a second look"
        case threadWithoutLook = "doorbells, thread leaves without a look"
        case answersForNobody = "doorbells, answers ring for no loop"
        case writerSaysLooks = "doorbells, writer says that the thread looks"
        case signalWithoutWord = "doorbells, thread notified by a flag alone"

        var expected: Verdict { self == .doorbells ? .safe : .stuck }
    }

    enum Word: Int { case written, readerWaits, answerWaits }

    /// The content of the memory, and the stores that each of the three participants has not flushed.
    struct State: Hashable {
        var memory = [0, 0, 0]
        var kept: [[Store]] = [[], [], []]
        var places = [0, 0, 0]
        /// The numbers of messages written and read.
        var sent = 0
        var read = 0
        var bellRings = false
        var threadSleeps = false
        var isGivenUp = false
    }

    struct Store: Hashable {
        var word: Word
        var value: Int
    }

    static let (writer, loop, thread) = (0, 1, 2)
    private static let (leaving, gone) = (8, 11)

    let variant: Variant
    /// Whether each message is an answer; the last answer is the thread's.
    let answers: [Bool]

    private var threadsAnswer: Int? { answers.lastIndex(of: true) }

    /// Whether the thread no longer has anything to wait for.
    private func isOver(_ state: State) -> Bool { state.isGivenUp || threadsAnswer.map { state.read > $0 } ?? false }

    private func load(_ word: Word, _ who: Int, _ state: State) -> Int {
        state.kept[who].last { $0.word == word }?.value ?? state.memory[word.rawValue]
    }

    /// The state in which a participant is at `place`, after `change`.
    private func step(_ state: State, _ who: Int, to place: Int, _ change: (inout State) -> Void = { _ in }) -> State {
        var next = state
        next.places[who] = place
        change(&next)
        return next
    }

    private func store(_ state: State, _ who: Int, _ word: Word, _ value: Int, to place: Int) -> State {
        step(state, who, to: place) { $0.kept[who].append(Store(word: word, value: value)) }
    }

    /// Calls the closure for every possible next state.
    func following(_ state: State) -> [State] {
        var next: [State] = []
        for who in 0..<3 where !state.kept[who].isEmpty {
            var drained = state
            let store = drained.kept[who].removeFirst()
            drained.memory[store.word.rawValue] = store.value
            next.append(drained)
        }
        return next + writerSteps(state) + loopSteps(state) + threadSteps(state)
    }

    private func writerSteps(_ state: State) -> [State] {
        let who = Self.writer
        let isFenced = state.kept[who].isEmpty
        func done(_ state: State) -> State { step(state, who, to: 0) { $0.sent += 1 } }
        switch state.places[who] {
        case 0:
            guard state.sent < answers.count else { return [] }
            // A question that was not written has no answer.
            if state.sent == threadsAnswer, state.places[Self.thread] < 2 { return [] }
            return [store(state, who, .written, state.sent + 1, to: 1)]
        case 1: return isFenced || variant == .writerWithoutFence ? [step(state, who, to: 2)] : []
        case 2:
            guard answers[state.sent] else { return [step(state, who, to: 4)] }
            switch load(.answerWaits, who, state) {
            case 1: return [store(state, who, .answerWaits, variant == .writerSaysLooks ? 2 : 0, to: 3)]
            case 2: return [done(state)]
            default: return [variant == .answersForNobody ? done(state) : step(state, who, to: 4)]
            }
        case 3: return isFenced ? [done(step(state, who, to: 0) { $0.threadSleeps = false })] : []
        case 4:
            guard load(.readerWaits, who, state) == 1 else { return [done(state)] }
            return [store(state, who, .readerWaits, 0, to: 5)]
        default: return isFenced ? [done(step(state, who, to: 0) { $0.bellRings = true })] : []
        }
    }

    private func loopSteps(_ state: State) -> [State] {
        let who = Self.loop
        let isFenced = state.kept[who].isEmpty
        switch state.places[who] {
        case 0:
            var next: [State] = []
            if state.bellRings { next.append(step(state, who, to: 1) { $0.bellRings = false }) }
            // A deadline has passed; the thread is notified if it is waiting.
            if !state.isGivenUp, state.places[Self.thread] < Self.leaving {
                next.append(step(state, who, to: variant == .signalWithoutWord ? 1 : 5) { $0.isGivenUp = true })
            }
            return next
        case 1: return [step(state, who, to: 2) { $0.read = load(.written, who, state) }]
        case 2: return [store(state, who, .readerWaits, 1, to: 3)]
        case 3: return isFenced ? [step(state, who, to: variant == .readerWithoutLook ? 0 : 4)] : []
        case 4: return [step(state, who, to: load(.written, who, state) != state.read ? 1 : 0)]
        case 5: return [store(state, who, .answerWaits, 0, to: 6)]
        default: return isFenced ? [step(state, who, to: 1) { $0.threadSleeps = false }] : []
        }
    }

    private func threadSteps(_ state: State) -> [State] {
        let who = Self.thread
        let isFenced = state.kept[who].isEmpty
        let hasInput = load(.written, who, state) != state.read
        switch state.places[who] {
        case 0: return [store(state, who, .answerWaits, 2, to: 1)]
        // The question has been written.
        case 1: return isFenced ? [step(state, who, to: 2)] : []
        case 2: return [step(state, who, to: 3) { $0.read = load(.written, who, state) }]
        case 3:
            if isOver(state) { return [step(state, who, to: Self.leaving)] }
            return [store(state, who, .answerWaits, 1, to: 4)]
        case 4: return isFenced ? [step(state, who, to: 5)] : []
        case 5: return [step(state, who, to: hasInput || isOver(state) ? 2 : 6)]
        case 6:
            let sleeps = state.memory[Word.answerWaits.rawValue] == 1
            return isFenced ? [step(state, who, to: 7) { $0.threadSleeps = sleeps }] : []
        case 7: return state.threadSleeps ? [] : [store(state, who, .answerWaits, 2, to: 2)]
        case Self.leaving: return [store(state, who, .answerWaits, 0, to: 9)]
        case 9: return isFenced ? [step(state, who, to: variant == .threadWithoutLook ? Self.gone : 10)] : []
        case 10: return [step(state, who, to: Self.gone) { $0.bellRings = $0.bellRings || hasInput }]
        default: return []
        }
    }

    /// Whether all participants sleep although there is work left.
    private func isStuck(_ state: State) -> Bool {
        state.read < answers.count || (state.threadSleeps && isOver(state))
    }

    /// Visits every reachable state, up to the first deadlock.
    func run() -> (states: Int, verdict: Verdict) {
        // The loop begins to listen, then checks for messages.
        var first = State()
        first.places[Self.loop] = 1
        var seen: Set<State> = [first]
        var open = [first]
        while let state = open.popLast() {
            let next = following(state)
            if next.isEmpty, isStuck(state) { return (seen.count, .stuck) }
            for state in next where seen.insert(state).inserted { open.append(state) }
        }
        return (seen.count, .safe)
    }

    /// Checks a variant with every order of answers and other messages among `count` messages.
    static func check(_ variant: Variant, messages count: Int) -> (states: Int, verdict: Verdict) {
        var states = 0
        var verdict = Verdict.safe
        for pattern in 0..<(1 << count) {
            let result = Doorbell(variant: variant, answers: (0..<count).map { pattern >> $0 & 1 == 1 }).run()
            states += result.states
            if result.verdict != .safe { verdict = result.verdict }
        }
        return (states, verdict)
    }
}
