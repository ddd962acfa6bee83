/// How far a `ServingTask` is, as far as a cancellation has to know.
struct ServingProgress {
    private enum Phase: UInt8 {
        /// It serves no call: it is new, rests, or is about to.
        case idle
        case serving
        /// Its call was cancelled: it serves no other.
        case cancelled
        case over
    }

    private var phase = Phase.idle
    /// The number of the call that is served.
    private var call: UInt64 = 0
    /// What a cancellation cancels.
    ///
    /// The task holds its `ServingTask`, and this is a part of it: the circle ends with `end`.
    private var task: Task<Void, Never>?

    /// It serves a call from here on.
    mutating func take(_ call: UInt64) {
        phase = .serving
        self.call = call
    }

    /// Its task was made, for the first call.
    ///
    /// - Returns: Whether that call was cancelled meanwhile.
    mutating func started(_ task: Task<Void, Never>) -> Bool {
        if phase != .over { self.task = task }
        return phase == .cancelled
    }

    /// Its call is answered.
    ///
    /// - Returns: Whether it may serve another.
    mutating func answered() -> Bool {
        guard phase == .serving else { return false }
        phase = .idle
        return true
    }

    /// A call is cancelled, which may be an earlier one.
    ///
    /// - Returns: The task to be cancelled; nil if it does not serve that call, or is not made yet.
    mutating func cancel(_ call: UInt64) -> Task<Void, Never>? {
        guard phase == .serving, self.call == call else { return nil }
        phase = .cancelled
        return task
    }

    /// It serves no further call.
    mutating func end() {
        phase = .over
        task = nil
    }
}
