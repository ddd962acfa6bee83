import PortTransport

/// A fragmented message whose continuations are on the way.
///
/// Read and written under the connection's lock.
final class PartialMessage: @unchecked Sendable {
    enum Purpose {
        case call(Export)
        /// With what the opener brought.
        case reply(question: UInt32, ReturnStatus, MessageTables?)
    }

    let purpose: Purpose
    var bytes: ByteSlice?
    var isAborted = false

    init(purpose: Purpose) {
        self.purpose = purpose
    }
}
