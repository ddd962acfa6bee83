import PortTransport

/// An answer whose header and tables were entered; its waiter decodes the body.
final class Reply: @unchecked Sendable {
    // The reading thread makes it, then the waiter owns it.
    let status: ReturnStatus
    let body: ByteSlice
    /// Bytes of the large-message window that the body takes.
    let bulk: Int
    let tables: MessageTables?

    /// Whether it is the answer of a method that has no result.
    var isWithoutValue: Bool { body.bytes.count <= 2 && body.bytes.allSatisfy { $0 == 0 } }

    init(status: ReturnStatus, body: consuming ByteSlice, bulk: Int, tables: consuming MessageTables?) {
        self.status = status
        self.body = body
        self.bulk = bulk
        self.tables = tables
    }
}
