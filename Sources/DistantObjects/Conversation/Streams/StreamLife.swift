/// The life of a stream of this side: what its reader has asked for, and which Ends are sent.
///
///     offered --(credit, not enough for an item)--> asked
///     offered, asked --(credit)--> running
///     running --(the channel is full)--> full --(the channel has room)--> running
///     running, full --(the reader's End)--> stopping
///
///     running, full --(the task has ended, or this side closes)--> ended
///     asked --(this side closes)--> ended
///     offered --(this side closes)--> withdrawn --(credit that crossed this side's End)--> ended
///
///     offered, withdrawn --(the reader passes the stream back)--> over
///     offered, asked, withdrawn, ended --(the reader's End)--> over
///     stopping --(the task has ended, or this side closes)--> over
///     any --(the connection has ended)--> over
enum StreamLife {
    /// The reader has given no credit, so nothing has run, and the reader may pass the stream back.
    case offered
    /// The reader has given credit, but none for an item yet.
    case asked
    /// A task reads the sequence.
    case running
    /// A task reads the sequence, and the stream is in the list of those that wait for room in the channel.
    case full
    /// The reader's End has come, so the task has to stop.
    ///
    /// This side sends its End only when the task has ended. Otherwise a peer could have any number of tasks run.
    case stopping(ConnectionError)
    /// This side's End is written, and the reader may still pass the stream back.
    case withdrawn(ConnectionError)
    /// This side's End is written; the reader's is to come.
    case ended(ConnectionError)
    /// Both Ends are sent, so the number is free. Or the connection has ended.
    case over(ConnectionError)

    /// Why the producer has to stop; nil while it may go on.
    var stop: ConnectionError? {
        switch self {
        case .offered, .asked, .running, .full: nil
        case .stopping(let error), .withdrawn(let error), .ended(let error), .over(let error): error
        }
    }

    /// Whether a task reads the sequence, also if it has to stop.
    var isRunning: Bool {
        switch self {
        case .running, .full, .stopping: true
        case .offered, .asked, .withdrawn, .ended, .over: false
        }
    }

    /// Whether this side's End is written, or the connection has ended.
    var hasEnded: Bool {
        switch self {
        case .withdrawn, .ended, .over: true
        case .offered, .asked, .running, .full, .stopping: false
        }
    }

    var awaitsRoom: Bool {
        if case .full = self { true } else { false }
    }

    var readerHasEnded: Bool {
        switch self {
        case .stopping, .over: true
        case .offered, .asked, .running, .full, .withdrawn, .ended: false
        }
    }

    // MARK: The reader

    enum CreditAction {
        case none
        /// Start the task.
        case start
        /// Resume the senders that wait for credit.
        case wake
    }

    /// - Parameter isEnough: Whether an item may be sent now.
    mutating func receiveCredit(isEnough: Bool) -> CreditAction {
        switch self {
        case .offered, .asked:
            self = isEnough ? .running : .asked
            return isEnough ? .start : .none
        case .running, .full: return .wake
        case .withdrawn(let error):
            self = .ended(error)
            return .none
        case .stopping, .ended, .over: return .none
        }
    }

    enum ReadersEndAction {
        case none
        /// Write this side's End, release the sequence, and free the number.
        case endUnread
        /// Cancel the task, and resume the senders.
        case cancel
        /// Free the number.
        case free
    }

    /// - Parameter error: Why the producer has to stop.
    mutating func receiveReadersEnd(_ error: ConnectionError) -> ReadersEndAction {
        switch self {
        case .offered, .asked:
            self = .over(error)
            return .endUnread
        case .running, .full:
            self = .stopping(error)
            return .cancel
        case .withdrawn(let error), .ended(let error):
            self = .over(error)
            return .free
        case .stopping, .over: return .none
        }
    }

    enum TakeBackAction {
        /// The reader has given credit, so it may not pass the stream back.
        case refuse
        /// Write this side's End, and free the number.
        case end
        /// Free the number.
        case free
    }

    /// Enters that the reader passes the stream back.
    mutating func takeBack(_ error: ConnectionError) -> TakeBackAction {
        switch self {
        case .offered:
            self = .over(error)
            return .end
        case .withdrawn(let error):
            self = .over(error)
            return .free
        case .asked, .running, .full, .stopping, .ended, .over: return .refuse
        }
    }

    // MARK: This side

    /// Notes that an item has to wait for room in the channel.
    ///
    /// - Returns: Whether the caller has to put the stream into the list of those that wait.
    mutating func awaitRoom() -> Bool {
        guard case .running = self else { return false }
        self = .full
        return true
    }

    /// Notes that the stream is no longer in that list.
    mutating func stopAwaitingRoom() {
        if case .full = self { self = .running }
    }

    enum EndAction {
        /// No task runs.
        case refuse
        /// Write this side's End.
        case end
        /// Write this side's End, and free the number.
        case endAndFree
    }

    /// Notes that the task has ended, and that this side's End is written.
    ///
    /// - Parameter error: What senders get from now on: no item may follow the End.
    mutating func endTask(_ error: ConnectionError) -> EndAction {
        switch self {
        case .running, .full:
            self = .ended(error)
            return .end
        case .stopping:
            self = .over(error)
            return .endAndFree
        case .offered, .asked, .withdrawn, .ended, .over: return .refuse
        }
    }

    enum CloseAction {
        /// This side's End is written already.
        case none
        /// Write this side's End, and release the sequence.
        case endUnread
        /// Cancel the task, and write this side's End.
        case end
        /// Cancel the task, write this side's End, and free the number.
        case endAndFree
    }

    /// Ends the stream because this side closes the connection in order.
    mutating func close(_ error: ConnectionError) -> CloseAction {
        switch self {
        case .offered:
            self = .withdrawn(error)
            return .endUnread
        case .asked:
            self = .ended(error)
            return .endUnread
        case .running, .full:
            self = .ended(error)
            return .end
        case .stopping:
            self = .over(error)
            return .endAndFree
        case .withdrawn, .ended, .over: return .none
        }
    }

    enum LossAction {
        case none
        /// Release the sequence.
        case dispose
        /// Cancel the task.
        case cancel
    }

    /// Ends the stream because the connection has ended.
    mutating func lose(_ error: ConnectionError) -> LossAction {
        let before = self
        self = .over(stop ?? error)
        switch before {
        case .offered, .asked: return .dispose
        case .running, .full, .stopping: return .cancel
        case .withdrawn, .ended, .over: return .none
        }
    }
}
