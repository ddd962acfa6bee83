import KeyedArchive

/// Makes the result of a message anew for another connection.
///
/// A stream is then read through this process, and shared bytes are copied.
@usableFromInline
struct ResultCopier: Sendable {
    /// Decodes the result of an answer with the coder of its connection, and encodes it for another one.
    let copy: @Sendable (Reply, PortCoder, ObjectEncoder) throws -> Void

    init<Result: Codable & SendableMetatype>(_ type: Result.Type) {
        copy = { reply, coder, encoder in
            let decoder = try coder.decoder(reply.body, largeBytes: reply.largeBytes, tables: reply.tables)
            let result = try decoder.decodeTop(type)
            coder.recycle(consume decoder)
            try encoder.encodeTop(result)
        }
    }
}
