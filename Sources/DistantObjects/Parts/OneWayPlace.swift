/// One wait of a one-way message for room, named by its cancellation.
///
/// Guarded by the connection's lock.
final class OneWayPlace: @unchecked Sendable {
    /// Why the sender waits no longer.
    var withdrawal: (any Error)?
}
