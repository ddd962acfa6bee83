// For programs without tasks.
extension DistantStream {
    /// Begins to read the stream from a thread that runs no task.
    ///
    /// ```swift
    /// var lines = try log.lines.blocking(0).makeBlockingIterator()
    /// while let line = try lines.next() { show(line) }
    /// ```
    public func makeBlockingIterator() -> BlockingIterator { BlockingIterator(content.makeReader()) }

    /// Reads a stream from a thread that runs no task.
    ///
    /// When the last copy of it is gone before the end, the stream is stopped.
    public struct BlockingIterator {
        private let reader: StreamReader<Element>

        init(_ reader: StreamReader<Element>) { self.reader = reader }

        /// The next element; nil at the end.
        ///
        /// Blocks the calling thread until it has come. The thread reads the connection itself while it waits, as in a blocking call.
        ///
        /// - Parameter timeout: How long to wait; nil for no limit.
        /// - Throws: As `next()` of the stream's `AsyncIterator`; `ConnectionError.deadlineExceeded` if no element came in
        ///   that time, in which case the next one is not lost; `.wouldBlock` on an event loop's thread and in a task.
        public mutating func next(timeout: Duration? = nil) throws -> Element? {
            try Connection.checkMayBlock("a stream")
            return try reader.nextBlocking(within: timeout)
        }
    }

    /// A stream of what the closure sends from a thread of its own, so that it may block.
    ///
    /// ```swift
    /// DistantStream<String>.onThread { writer in
    ///     while let line = readLine() { try writer.blockingSend(line) }
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - readAhead: As for a stream of a closure that is `async`.
    ///   - body: Called once if the stream is sent and read, on a new thread. The stream ends when it returns or throws. If
    ///     the reader stops before, `blockingSend` throws in it.
    public static func onThread(
        readAhead: Int? = nil, _ body: @escaping @Sendable (StreamWriter<Element>) throws -> Void
    ) -> DistantStream {
        DistantStream(readAhead: readAhead) { writer in try await onOwnThread { try body(writer) } }
    }
}

extension DistantStream.WithFinal {
    /// Begins to read the stream from a thread that runs no task.
    public func makeBlockingIterator() -> DistantStream.BlockingIterator {
        DistantStream.BlockingIterator(content.makeReader())
    }

    /// The value that follows the last element, as `final`: blocks the calling thread until it is known.
    ///
    /// - Parameter timeout: How long to wait; nil for no limit. A stream that this function reads is stopped then.
    /// - Throws: As `final`; `ConnectionError.deadlineExceeded`, `.wouldBlock` on an event loop's thread and in a task.
    public func blockingFinal(timeout: Duration? = nil) throws -> Final {
        try Connection.checkMayBlock("a stream")
        return try content.blockingFinal(within: timeout)
    }

    /// A stream of what the closure sends from a thread of its own, which ends with the value it returns.
    ///
    /// - Parameters:
    ///   - readAhead: As for a stream without a final value.
    ///   - body: As for a stream without a final value.
    public static func onThread(
        readAhead: Int? = nil, _ body: @escaping @Sendable (StreamWriter<Element>) throws -> Final
    ) -> Self {
        Self(readAhead: readAhead) { writer in try await onOwnThread { try body(writer) } }
    }
}
