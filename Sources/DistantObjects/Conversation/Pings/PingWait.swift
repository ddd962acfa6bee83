/// A waiter for the answer to a ping or a barrier.
///
/// Guarded by the connection's lock.
final class PingWait: @unchecked Sendable {
    /// The continuation of the waiter; `nil` before it waits and after it is resumed.
    var continuation: UnsafeContinuation<Void, any Error>?
    var isCancelled = false
}
