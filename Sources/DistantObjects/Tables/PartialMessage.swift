import PortTransport

/// A fragmented message whose fragments are still arriving.
///
/// Read and written under the connection's lock.
final class PartialMessage: @unchecked Sendable {
    enum Purpose {
        case call(Export)
        /// With the status and tables from the opener.
        case reply(question: UInt32, ReturnStatus, MessageTables?)
    }

    var purpose: Purpose
    var bytes: ByteSlice?
    var isAborted = false

    init(purpose: Purpose) {
        self.purpose = purpose
    }
}
