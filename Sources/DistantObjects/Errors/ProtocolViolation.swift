/// A rule of the wire protocol that the peer broke.
///
/// It ends the connection with a `Goodbye` that says which.
package struct ProtocolViolation: Error {
    package let reason: GoodbyeReason
    package let message: String

    init(_ reason: GoodbyeReason, _ message: String) {
        self.reason = reason
        self.message = message
    }
}
