/// Work for a stream that a transition leaves to its caller.
enum StreamAction {
    /// Resume a task or thread that waits for items, for room or for a final value.
    case resume(VoidWaiter)
    /// Start the task that reads the sequence.
    case start(StreamOutbox)
    /// Cancel the task that reads the sequence.
    case cancel(StreamOutbox)
    /// Write the items that waited for room in the channel.
    case flush(StreamOutbox)
    /// Release a sequence that is never read.
    case dispose(StreamSource)

    /// Whether the action runs user code, which has to run on the loop.
    var runsUserCode: Bool {
        switch self {
        case .cancel, .dispose: true
        case .resume, .start, .flush: false
        }
    }
}
