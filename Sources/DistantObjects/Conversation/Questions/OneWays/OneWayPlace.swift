/// Identifies a one-way message that waits for room, so that it can be withdrawn.
///
/// Guarded by the connection's lock.
final class OneWayPlace: @unchecked Sendable {
    /// Why the sender has withdrawn the message; nil if it has not.
    var withdrawal: (any Error)?
}
