/// The messages to one object that have not started.
///
/// Read and written under the connection's lock.
final class Mailbox: @unchecked Sendable {
    /// A message to the object is about to start, or its first job has not returned.
    @exclusivity(unchecked) var isBusy = false
    /// Messages that wait for their turn, in the order of their openers.
    @exclusivity(unchecked) var waiting = Fifo<InboundCall>()
    /// The object was released while messages to it waited.
    ///
    /// Exported again, it must not overtake them.
    @exclusivity(unchecked) var isLingering = false

    var isIdle: Bool { !isBusy && waiting.isEmpty }
}
