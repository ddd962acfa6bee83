import Dispatch

/// Reads a stream: the state of an iterator.
///
/// This class itself is the reader of a stream that cannot be read.
class StreamReader<Element: Codable & Sendable>: @unchecked Sendable {  // Used by one task at a time.
    private let error: ConnectionError
    private var isReported = false

    init(_ error: ConnectionError = DeadStream.used.error) { self.error = error }

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

/// Reads a stream of this process.
final class LocalReader<Element: Codable & Sendable>: StreamReader<Element>, @unchecked Sendable {
    // Used by one task at a time, as its superclass.

    private let pipe: LocalPipe<Element>

    init(_ pipe: LocalPipe<Element>) {
        self.pipe = pipe
        super.init()
    }

    deinit { pipe.stop() }

    override func next() async throws -> Element? { try await pipe.next() }

    override func nextBlocking(within limit: Duration?) throws -> Element? {
        try nextBlocking(until: limit.map { DispatchTime(after: $0) })
    }

    func nextBlocking(until end: DispatchTime?) throws -> Element? { try pipe.nextBlocking(until: end) }
}
