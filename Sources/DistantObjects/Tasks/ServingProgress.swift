/// The part of a `ServingTask`'s state that cancellation depends on.
struct ServingProgress {
    private enum Phase: UInt8 {
        /// The task serves no call: it is new, rests, or is about to rest.
        case idle
        case serving
        /// The call was cancelled. The task serves no other call.
        case cancelled
        case over
    }

    private var phase = Phase.idle
    /// The number of the call that is served.
    private var call: UInt64 = 0
    /// The task that a cancellation cancels.
    ///
    /// This is a reference cycle, because the task holds its `ServingTask`. `end` breaks it.
    private var task: Task<Void, Never>?

    /// Begins to serve a call.
    mutating func take(_ call: UInt64) {
        phase = .serving
        self.call = call
    }

    /// Stores the task, which was made for the first call.
    ///
    /// - Returns: Whether that call has been cancelled already.
    mutating func started(_ task: Task<Void, Never>) -> Bool {
        if phase != .over { self.task = task }
        return phase == .cancelled
    }

    /// Notes that the call is answered.
    ///
    /// - Returns: Whether the task may serve another call.
    mutating func answered() -> Bool {
        guard phase == .serving else { return false }
        phase = .idle
        return true
    }

    /// Cancels a call, which may be an earlier one.
    ///
    /// - Returns: The task to cancel; nil if it does not serve that call, or does not exist yet.
    mutating func cancel(_ call: UInt64) -> Task<Void, Never>? {
        guard phase == .serving, self.call == call else { return nil }
        phase = .cancelled
        return task
    }

    /// Notes that the task serves no further call.
    mutating func end() {
        phase = .over
        task = nil
    }
}
