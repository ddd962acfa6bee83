import PortTransport
import Synchronization

/// A stream of the peer, one of whose frames comes in fragments.
protocol FragmentedStream: AnyObject {}

/// A message whose fragments are still arriving or have come.
///
/// Its first frame is its *opener*, with the header, the tables and the length. The frames that follow continue it.
///
/// Guarded by the connection's lock, except for the count of its bytes in the window.
final class PartialMessage: @unchecked Sendable {
    enum Recipient {
        case call(Export)
        /// An answer, with the status and tables from its opener.
        case reply(question: UInt32, ReturnStatus, MessageTables?)
        /// Items of a stream, or its End.
        case stream(any FragmentedStream)
        /// A call that was refused. Its fragments are dropped.
        case refused
    }

    /// The progress of a message whose fragments have come.
    enum Place {
        /// The message waits to be started or read.
        case waiting
        /// The credit for the message was given back early.
        case laidAside
        case started
    }

    var recipient: Recipient
    /// The number of bytes that follow the opener, as the opener announces it.
    let length: Int
    private(set) var bytes: ByteSlice?
    var isAborted = false
    var place = Place.waiting
    /// Whether the bytes were dropped because the message was refused: there was no memory for it, or it blocked the
    /// window.
    private(set) var isRefused = false
    /// The bytes for which credit has to be given back.
    private let largeBytes = Atomic<Int>(0)

    /// - Parameter opener: The frame before the fragments.
    init(recipient: Recipient, of opener: borrowing InboundFrame) {
        self.recipient = recipient
        // The channel refuses more than the limit of a message, which is below this number.
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
        (recipient, place) = (.refused, .started)
        refuse()
        return takeLargeBytes()
    }

    /// The number of bytes for which credit has to be given back.
    var creditDue: Int { largeBytes.load(ordering: .relaxed) }

    /// Takes the number of bytes for which the caller has to give credit back to the peer.
    func takeLargeBytes() -> Int { largeBytes.exchange(0, ordering: .relaxed) }
}
