import PortTransport
import Synchronization

/// The part of a connection's work that runs the user's code: hooks, cancellations of methods, last releases.
///
/// It runs on the loop, one piece at a time, in the order in which it was found. A thread that reads while it waits for an
/// answer hands it over instead of running it.
struct UserWork: ~Copyable {
    private var waiting = Fifo<Completion>()
    /// A thread runs it, or the loop was asked to.
    private var isBusy = false
    /// The end was added: no event follows it.
    private var hasEnded = false

    /// Takes the pieces over, so that no reference to what they hold stays behind.
    ///
    /// - Returns: Whether the caller has to see to it that they run.
    mutating func add(_ work: inout [Completion]) -> Bool {
        for piece in work {
            switch piece {
            case .event where hasEnded: continue
            case .ended: hasEnded = true
            default: break
            }
            waiting.append(piece)
        }
        work = []
        guard !isBusy, !waiting.isEmpty else { return false }
        isBusy = true
        return true
    }

    mutating func next() -> Completion? {
        let next = waiting.popFirst()
        if next == nil { isBusy = false }
        return next
    }
}

extension Connection {
    /// Does what transitions of the state have left to do, with no lock held.
    ///
    /// - Parameter onLoop: The calling thread is the loop's: events run where they stand among the rest. Else all code of the
    ///   user's is handed over, in one step, once the rest is done.
    func perform(_ completions: consuming [Completion], onLoop: Bool) {
        var userWork = performOwn(consume completions, onLoop: onLoop)
        if !userWork.isEmpty { hand(&userWork, onLoop: onLoop) }
    }

    /// A function of its own: when it returns, nothing but its result refers to what the user's code will let go.
    @inline(never)
    private func performOwn(_ completions: consuming [Completion], onLoop: Bool) -> [Completion] {
        var userWork: [Completion] = []
        for completion in completions {
            switch completion {
            case .event where onLoop:
                var event = [completion]
                hand(&event, onLoop: true)
            case .discard(let reply):
                if reply.bulk > 0 { consumed(bulk: reply.bulk) }
                if let tables = reply.tables { userWork.append(.release(tables)) }
            case _ where completion.runsUserCode:
                userWork.append(completion)
            default:
                completion.perform(on: self)
            }
        }
        return userWork
    }

    /// Has the user's code run on the loop, after all that was handed over before.
    ///
    /// - Parameter onLoop: It may run now, on the calling thread.
    func hand(_ work: inout [Completion], onLoop: Bool) {
        guard userWork.withLock({ $0.add(&work) }) else { return }
        if onLoop { runUserWork() } else { loop.perform { self.runUserWork() } }
    }

    /// Tells of an event that was found outside the loop, or by a method whose thread may not be the loop's any more.
    func reportOnLoop(_ event: ConnectionEvent) {
        guard configuration.onEvent != nil else { return }
        var work = [Completion.event(event)]
        hand(&work, onLoop: false)
    }

    private func runUserWork() {
        while let piece = userWork.withLock({ $0.next() }) { piece.perform(on: self) }
    }
}
