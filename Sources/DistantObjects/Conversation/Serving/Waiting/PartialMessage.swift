import PortTransport
import Synchronization

/// A stream of the peer, one of whose frames comes in fragments.
protocol FragmentedStream: AnyObject {}

/// A message in fragments, which are still arriving or have come.
///
/// Guarded by the connection's lock, except for the count of its bytes in the window.
final class PartialMessage: @unchecked Sendable {
    enum Purpose {
        case call(Export)
        /// With the status and tables from the opener.
        case reply(question: UInt32, ReturnStatus, MessageTables?)
        /// Items of a stream, or its End.
        case stream(any FragmentedStream)
        /// A call that was refused. Its fragments are dropped.
        case refused
    }

    /// The progress of a message whose fragments have come.
    enum Place {
        /// It waits to be started or read.
        case waiting
        /// The credit for it was given back early.
        case laidAside
        case started
    }

    var purpose: Purpose
    /// Its bytes, as its opener announces them.
    let length: Int
    private(set) var bytes: ByteSlice?
    var isAborted = false
    var place = Place.waiting
    /// Whether its bytes were dropped, because too many others were laid aside.
    private(set) var isRefused = false
    /// The bytes for which credit has to be given back.
    private let largeBytes = Atomic<Int>(0)

    /// - Parameter opener: The frame before the fragments.
    init(purpose: Purpose, of opener: borrowing InboundFrame) {
        self.purpose = purpose
        // The channel refuses more than the limit of a message, which is below this.
        length = Int(min(opener.messageLength ?? 0, 1 << 40))
    }

    /// Completes the message; nil if its sender has aborted it.
    func complete(_ bytes: ByteSlice?) {
        self.bytes = bytes
        isAborted = bytes == nil
        largeBytes.store(bytes?.bytes.count ?? 0, ordering: .relaxed)
    }

    /// Drops the bytes of a message that waits.
    func refuse() {
        (bytes, isAborted, isRefused) = (nil, true, true)
    }

    /// Drops the bytes of a call that is refused, also those that are still to come.
    ///
    /// - Returns: The number of bytes for which the caller has to give credit back to the peer.
    func drop() -> Int {
        (purpose, place) = (.refused, .started)
        refuse()
        return takeLargeBytes()
    }

    /// The number of bytes for which credit has to be given back.
    var creditDue: Int { largeBytes.load(ordering: .relaxed) }

    /// Takes the number of bytes for which the caller has to give credit back to the peer.
    func takeLargeBytes() -> Int { largeBytes.exchange(0, ordering: .relaxed) }
}
