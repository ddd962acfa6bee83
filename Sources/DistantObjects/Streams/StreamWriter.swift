/// Sends the elements of a stream, for the code behind it.
///
/// ```swift
/// DistantStream<Row> { writer in
///     while let row = try await cursor.next() { try await writer.send(row) }
/// }
/// ```
public struct StreamWriter<Element: Codable & Sendable>: Sendable {
    let sink: ConnectionSink<Element>

    /// Sends an element.
    ///
    /// Elements that are sent without a suspension between them travel together. Waits while the reader has asked for no
    /// more, so that a slow reader costs no memory.
    ///
    /// - Throws: `ConnectionError.cancelled` if the reader has stopped or the stream has ended, `.closed` if the connection has
    ///   ended or is closing; `.tooLarge` or `.notEncodable` if the element cannot be sent, in which case the next one can;
    ///   `CancellationError`.
    /// - Complexity: Linear in the size of the element, besides the wait for room.
    public func send(_ element: Element) async throws {
        while true {
            switch try sink.offer(element) {
            case .taken: return
            case .takenLast: return try await sink.awaitRoom()
            case .full: try await sink.awaitRoom()
            }
        }
    }

    /// Sends an element as `send` does, from a thread that runs no task: blocks it while the reader has asked for no more.
    ///
    /// - Throws: As `send`; `ConnectionError.wouldBlock` on an event loop's thread and in a task, `.deadlineExceeded` if the
    ///   element could not be sent in that time. If it throws, the element was not sent.
    /// - Complexity: Linear in the size of the element, besides the wait for room.
    public func blockingSend(_ element: Element, timeout: Duration? = nil) throws {
        try Connection.checkMayBlock("a stream's writer")
        // The room that the element waits for may have come while this thread had the batch.
        defer { sink.settle() }
        guard case .full = try sink.offer(element) else { return }
        let start = ContinuousClock.now
        repeat {
            // Another thread may take the room.
            try sink.awaitRoomBlocking(within: timeout.map { max($0, .zero) - start.duration(to: .now) })
        } while try sink.offer(element) == .full
    }
}

/// The outcome of an attempt to send an element.
enum StreamOffer {
    case taken
    /// Taken, and the next one has to wait.
    case takenLast
    /// Not taken: it has to wait.
    case full
}
