@_spi(Queues) import PortTransport

/// The queue of actions that run user code: event handlers, cancellations of methods, last releases.
///
/// The actions run on the loop, one at a time and in order. A thread that reads while it waits for an answer adds such
/// actions to this queue instead of running them.
struct UserWork<Host: ConversationHost>: ~Copyable {
    private var waiting = Ring<Action<Host>>()
    /// Whether a thread runs the actions, or a job on the loop will.
    private var isBusy = false
    /// Whether the end of the connection was added.
    ///
    /// Events that are added later are dropped.
    private var hasEnded = false

    /// Moves actions into the queue.
    ///
    /// The array is empty afterwards, so that the caller keeps no reference to their objects.
    ///
    /// - Returns: Whether the caller has to arrange that the queue runs.
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
        if let next = waiting.popFirst() { return next }
        // An idle connection keeps no memory for a queue that it seldom needs.
        waiting = Ring()
        isBusy = false
        return nil
    }
}
