import PortTransport

/// A stream of the peer, one of whose frames comes in fragments.
protocol FragmentedStream: AnyObject {}

/// A fragmented message whose fragments are still arriving.
///
/// Read and written under the connection's lock.
final class PartialMessage: @unchecked Sendable {
    enum Purpose {
        case call(Export)
        /// With the status and tables from the opener.
        case reply(question: UInt32, ReturnStatus, MessageTables?)
        /// Items of a stream, or its End.
        case stream(any FragmentedStream)
    }

    var purpose: Purpose
    var bytes: ByteSlice?
    var isAborted = false

    init(purpose: Purpose) {
        self.purpose = purpose
    }
}
