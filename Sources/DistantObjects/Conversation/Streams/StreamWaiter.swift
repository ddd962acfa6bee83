/// A task, or a thread that runs none, that waits for items of a stream, for its end, or for room.
enum StreamWaiter {
    case task(UnsafeContinuation<Void, Never>)
    case thread(BlockingCall)

    /// Whether the waiter is a thread that waits in that call.
    func isThread(in call: BlockingCall) -> Bool {
        if case .thread(let own) = self { own === call } else { false }
    }
}
