/// Reads a stream: the state of an iterator.
///
/// This class itself is the reader of a stream that cannot be read.
class StreamReader<Element: Codable & Sendable>: @unchecked Sendable {  // Used by one task at a time.
    private let error: any Error
    private var isReported = false

    init(_ error: any Error = DeadStream.used.error) { self.error = error }

    /// The next element, if it has arrived.
    func arrived() throws -> Element? { nil }

    /// The next element; nil at the end.
    func next() async throws -> Element? {
        if isReported { return nil }
        isReported = true
        throw error
    }

    /// The next element, as `next()`: blocks the calling thread.
    ///
    /// - Throws: `ConnectionError.deadlineExceeded`. The stream goes on then.
    func nextBlocking(within limit: Duration?) throws -> Element? {
        if isReported { return nil }
        isReported = true
        throw error
    }
}
