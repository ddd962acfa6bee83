/// Identifies a one-way message that waits for credit or room, so that its sender can withdraw the message.
///
/// Guarded by the connection's lock.
final class OneWayPlace: @unchecked Sendable {
    /// Why the sender has withdrawn the message; nil if the sender has not done so.
    var withdrawal: (any Error)?
}
