/// The features and limits in the peer's `Hello`.
struct PeerGrants {
    var features: Features = []
    var queuedCalls: Int32 = 0
    var runningCalls: Int32 = 0
    /// Bytes of the largest message; 0 before the `Hello`.
    var message: UInt64 = 0

    /// The most credit for calls that is counted: far more than any sender uses, and far less than the counters can
    /// hold.
    private static let mostCredit: UInt64 = 1 << 30

    init() {}

    init(_ hello: HelloFrame) {
        features = hello.features
        queuedCalls = Int32(min(hello.queuedCalls, Self.mostCredit))
        runningCalls = Int32(max(1, min(hello.runningCalls, UInt64(ProtocolLimits.mostOneWayCredit))))
        message = hello.message
    }
}
