import PortTransport
import Synchronization

/// A stream of the peer, one of whose frames comes in fragments.
protocol FragmentedStream: AnyObject {}

/// A message in fragments, which are still arriving or have come.
///
/// Read and written under the connection's lock, except for what it takes of the window.
final class PartialMessage: @unchecked Sendable {
    enum Purpose {
        case call(Export)
        /// With the status and tables from the opener.
        case reply(question: UInt32, ReturnStatus, MessageTables?)
        /// Items of a stream, or its End.
        case stream(any FragmentedStream)
    }

    /// Where a message is that has come.
    enum Place {
        /// It waits to be started or read.
        case waiting
        /// What it takes of the window was given back early.
        case laidAside
        case started
    }

    var purpose: Purpose
    private(set) var bytes: ByteSlice?
    var isAborted = false
    var place = Place.waiting
    /// Whether its bytes were dropped, because too many others were laid aside.
    private(set) var isRefused = false
    /// The bytes that it takes of the window for large messages.
    private let largeBytes = Atomic<Int>(0)

    init(purpose: Purpose) {
        self.purpose = purpose
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

    /// Takes the bytes that it takes of the window, which the caller gives back to the peer.
    func takeLargeBytes() -> Int { largeBytes.exchange(0, ordering: .relaxed) }
}
