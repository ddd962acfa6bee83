import PortTransport

/// An answer whose header and tables are entered.
///
/// Its waiter decodes the body.
final class Reply: @unchecked Sendable {
    // The reading thread makes it; then the waiter owns it.
    let status: ReturnStatus
    let body: ByteSlice
    /// The bytes that the body takes of the window for large messages.
    let largeBytes: Int
    let tables: MessageTables?

    /// Whether it is the answer of a method without a result.
    var isWithoutValue: Bool { EmptyMessage.isBody(body.bytes) }

    /// Whether the peer refused the call because it is closing the connection.
    var saysThatPeerCloses: Bool {
        guard status == .refused else { return false }
        var reader = WireReader(body.bytes)
        // The body's numbers of objects and of bytes, and its first value, which is the code.
        guard (try? reader.number()) == 0, (try? reader.number()) != nil, let code = try? reader.byte() else {
            return false
        }
        return Int(code) == ConnectionError.Code.closed.number
    }

    init(status: ReturnStatus, body: consuming ByteSlice, largeBytes: Int, tables: consuming MessageTables?) {
        self.status = status
        self.body = body
        self.largeBytes = largeBytes
        self.tables = tables
    }
}
