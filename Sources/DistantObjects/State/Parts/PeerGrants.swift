/// The features and limits in the peer's `Hello`.
struct PeerGrants {
    var features: UInt64 = 0
    var queuedCalls: Int32 = 0
    var runningCalls: Int32 = 0
    /// Bytes of the largest message; 0 before the `Hello`.
    var message: UInt64 = 0
}
