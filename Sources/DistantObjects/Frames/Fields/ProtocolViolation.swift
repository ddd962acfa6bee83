/// A violation of the wire protocol by the peer.
///
/// It ends the connection with a `Goodbye` that names the rule.
package struct ProtocolViolation: Error {
    package let reason: GoodbyeReason
    package let message: String

    init(_ reason: GoodbyeReason, _ message: String) {
        self.reason = reason
        self.message = message
    }
}
