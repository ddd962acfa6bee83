/// The part of a connection's work that runs the user's code: hooks, cancellations of methods, last releases.
///
/// It runs on the loop, one piece at a time, in the order in which it was found. A thread that reads while it waits for an
/// answer hands it over instead of running it.
struct UserWork<Host: PortHost>: ~Copyable {
    private var waiting = Fifo<Action<Host>>()
    /// A thread runs it, or the loop was asked to.
    private var isBusy = false
    /// The end was added: no event follows it.
    private var hasEnded = false

    /// Takes the pieces over, so that no reference to what they hold stays behind.
    ///
    /// - Returns: Whether the caller has to see to it that they run.
    mutating func add(_ work: inout [Action<Host>]) -> Bool {
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

    mutating func next() -> Action<Host>? {
        let next = waiting.popFirst()
        if next == nil { isBusy = false }
        return next
    }
}
