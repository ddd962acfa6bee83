import PortTransport

/// An answer whose header and tables have been entered; its body is decoded by who waits for it.
final class Reply: @unchecked Sendable {
    // Made by the reading thread, then owned by who waits.
    let status: ReturnStatus
    let body: ByteSlice
    /// How much of the bulk window the body takes.
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
