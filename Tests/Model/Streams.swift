/// An exhaustive check of the credit, the Ends and the numbers of streams.
///
/// A producer mentions streams one after the other under one number. Its task sends items within the credit of items and
/// bytes and ends when it likes; the reader takes items, returns credit, and stops when it likes. In each state,
///   - the reader holds at most one item more than it has granted, by bytes, and never more items;
///   - a frame reaches only the stream that it was sent for, also when the number was used before;
///   - a stream that can go on has a next step, and at the end every number is free.
struct Streams {
    /// The rule, and variants in which the search must find a fault.
    enum Variant: String, CaseIterable {
        case rule = "streams"
        case strictBytes = "streams, items need all their bytes"
        case creditOfHalves = "streams, credit above the window"
        case freeAtOwnEnd = "streams, number free with one End"
        case freeAtReadersEnd = "streams, number free with the reader's End"
        case noAnswer = "streams, no answer to the End"
        case twoAnswers = "streams, two Ends of the reader"
        case noBytes = "streams, more bytes than granted"

        var expected: Verdict {
            switch self {
            case .rule: .safe
            case .strictBytes, .creditOfHalves, .noAnswer: .stuck
            case .freeAtOwnEnd, .freeAtReadersEnd, .twoAnswers, .noBytes: .unsafe
            }
        }
    }

    /// A frame in transit, with the stream that it was sent for.
    enum Frame: Hashable {
        case mention(Int)
        case item(Int, bytes: Int)
        case producersEnd(Int)
        case credit(Int, items: Int, bytes: Int)
        case readersEnd(Int)
    }

    struct Producer: Hashable {
        /// The stream under the number, if the number is in use.
        var stream: Int?
        var isRunning = false
        var hasEnded = false
        var readerHasEnded = false
        var items = 0
        var bytes = 0
        /// The items that its task may still send.
        var left = 0
        /// A bit for each of them: whether it is large.
        var pattern = 0
        var begun = 0
    }

    struct Reader: Hashable {
        var stream: Int?
        var reads = false
        var hasEnded = false
        /// The sizes of the items that have arrived.
        var held: [Int] = []
        var granted = (items: 0, bytes: 0)
        var owed = (items: 0, bytes: 0)

        static func == (one: Reader, other: Reader) -> Bool {
            one.stream == other.stream && one.reads == other.reads && one.hasEnded == other.hasEnded
                && one.held == other.held && one.granted == other.granted && one.owed == other.owed
        }

        func hash(into hasher: inout Hasher) {
            hasher.combine(stream)
            hasher.combine(held)
            hasher.combine(granted.items)
            hasher.combine(granted.bytes)
            hasher.combine(owed.items)
            hasher.combine(hasEnded)
        }
    }

    struct State: Hashable {
        var producer = Producer()
        var reader = Reader()
        var toReader: [Frame] = []
        var toProducer: [Frame] = []
        var isUnsafe = false
    }

    let variant: Variant
    /// The number of streams, one after the other.
    let streams: Int

    private static let window = (items: 2, bytes: 3)
    /// Items of one byte and larger than the window.
    private static let sizes = [1, 4]
    private static let itemsOfStream = 3

    /// Calls the closure for every possible next state.
    func following(_ state: State) -> [State] {
        var next: [State] = []
        func step(_ change: (inout State) -> Void) {
            var changed = state
            change(&changed)
            next.append(changed)
        }
        produce(state, step)
        read(state, step)
        if let frame = state.toReader.first {
            step { state in
                state.toReader.removeFirst()
                arrive(frame, &state)
            }
        }
        if let frame = state.toProducer.first {
            step { state in
                state.toProducer.removeFirst()
                arriveAtProducer(frame, &state)
            }
        }
        return next
    }

    // MARK: The producer

    private func produce(_ state: State, _ step: ((inout State) -> Void) -> Void) {
        let own = state.producer
        if own.stream == nil, own.begun < streams {
            for pattern in 0..<1 << Self.itemsOfStream {
                step { state in
                    state.producer = Producer(
                        stream: own.begun, left: Self.itemsOfStream, pattern: pattern, begun: own.begun + 1)
                    state.toReader.append(.mention(own.begun))
                }
            }
        }
        guard let stream = own.stream, own.isRunning, !own.hasEnded else { return }
        let size = Self.sizes[(own.pattern >> max(0, own.left - 1)) & 1]
        if own.left > 0, own.items > 0, mayTake(size, own), !own.readerHasEnded {
            step { state in
                state.producer.left -= 1
                state.producer.items -= 1
                state.producer.bytes -= size
                state.toReader.append(.item(stream, bytes: size))
            }
        }
        // A task that is not cancelled ends when all its items are sent.
        if own.left == 0 || own.readerHasEnded { step { end(&$0, stream) } }
    }

    private func mayTake(_ size: Int, _ producer: Producer) -> Bool {
        switch variant {
        case .strictBytes: producer.bytes >= size
        case .noBytes: true
        default: producer.bytes > 0
        }
    }

    private func end(_ state: inout State, _ stream: Int) {
        state.producer.hasEnded = true
        state.toReader.append(.producersEnd(stream))
        free(&state.producer)
    }

    private func free(_ producer: inout Producer) {
        let isFree =
            switch variant {
            case .freeAtOwnEnd: producer.hasEnded
            case .freeAtReadersEnd: producer.readerHasEnded
            default: producer.hasEnded && producer.readerHasEnded
            }
        if isFree { producer = Producer(begun: producer.begun) }
    }

    private func arriveAtProducer(_ frame: Frame, _ state: inout State) {
        switch frame {
        case .credit(let stream, let items, let bytes):
            guard isFor(stream, state.producer.stream, &state) else { return }
            state.producer.items += items
            state.producer.bytes += bytes
            state.producer.isRunning = true
        case .readersEnd(let stream):
            guard isFor(stream, state.producer.stream, &state) else { return }
            if state.producer.readerHasEnded { state.isUnsafe = true }
            state.producer.readerHasEnded = true
            if state.producer.isRunning || state.producer.hasEnded {
                free(&state.producer)
            } else {
                state.producer.hasEnded = true
                state.toReader.append(.producersEnd(stream))
                free(&state.producer)
            }
        default: break
        }
    }

    /// Whether a frame reaches the stream that it was sent for.
    private func isFor(_ stream: Int, _ other: Int?, _ state: inout State) -> Bool {
        if stream != other { state.isUnsafe = true }
        return stream == other
    }

    // MARK: The reader

    private func read(_ state: State, _ step: ((inout State) -> Void) -> Void) {
        let own = state.reader
        guard let stream = own.stream, !own.hasEnded else { return }
        step { state in
            state.reader.hasEnded = true
            state.reader.held = []
            state.toProducer.append(.readersEnd(stream))
        }
        if !own.reads {
            step { state in
                state.reader.reads = true
                state.reader.granted = Self.window
                state.toProducer.append(.credit(stream, items: Self.window.items, bytes: Self.window.bytes))
            }
        } else if let size = own.held.first {
            step { take(size, &$0, stream) }
        }
    }

    private func take(_ size: Int, _ state: inout State, _ stream: Int) {
        state.reader.held.removeFirst()
        state.reader.owed.items += 1
        state.reader.owed.bytes += size
        let owed = state.reader.owed
        let isDue =
            variant == .creditOfHalves
            ? owed.items > Self.window.items && owed.bytes > Self.window.bytes
            : owed.items * 2 >= Self.window.items || owed.bytes * 2 >= Self.window.bytes
        guard isDue else { return }
        state.reader.owed = (0, 0)
        state.reader.granted.items += owed.items
        state.reader.granted.bytes += owed.bytes
        state.toProducer.append(.credit(stream, items: owed.items, bytes: owed.bytes))
    }

    private func arrive(_ frame: Frame, _ state: inout State) {
        switch frame {
        case .mention(let stream):
            if state.reader.stream != nil { state.isUnsafe = true }
            state.reader = Reader(stream: stream)
        case .item(let stream, let size):
            guard isFor(stream, state.reader.stream, &state) else { return }
            if state.reader.granted.items <= 0 || state.reader.granted.bytes <= 0 { state.isUnsafe = true }
            state.reader.granted.items -= 1
            state.reader.granted.bytes -= size
            if !state.reader.hasEnded { state.reader.held.append(size) }
        case .producersEnd(let stream):
            guard isFor(stream, state.reader.stream, &state) else { return }
            if variant == .twoAnswers || variant != .noAnswer && !state.reader.hasEnded {
                state.toProducer.append(.readersEnd(stream))
            }
            // What has arrived is read later, from the reader's own memory.
            state.reader = Reader()
        default: break
        }
    }

    // MARK: The search

    private func isOver(_ state: State) -> Bool {
        state.producer == Producer(begun: streams) && state.reader.stream == nil && state.toReader.isEmpty
            && state.toProducer.isEmpty
    }

    /// Whether the producer could go on if the reader did not stop.
    private func isStuck(_ state: State, _ next: [State]) -> Bool {
        // Stopping is no way out: a reader that only waits must get its items.
        let waits = next.filter { !$0.reader.hasEnded || state.reader.hasEnded || $0.reader.stream == nil }
        return waits.isEmpty && !isOver(state)
    }

    /// Visits every reachable state.
    func check() -> (states: Int, verdict: Verdict) {
        let begin = State()
        var seen: Set<State> = [begin]
        var open = [begin]
        while let state = open.popLast() {
            if state.isUnsafe { return (seen.count, .unsafe) }
            let next = following(state)
            if isStuck(state, next) { return (seen.count, .stuck) }
            for state in next where seen.insert(state).inserted { open.append(state) }
        }
        return (seen.count, .safe)
    }
}
