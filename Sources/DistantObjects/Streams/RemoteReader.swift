import KeyedArchive
import PortTransport

/// Reads a stream of the peer.
final class RemoteReader<Element: Codable & Sendable>: StreamReader<Element>, @unchecked Sendable {
    // Used by one task at a time, as its superclass.

    private let handle: StreamHandle
    private let codec = ValueCodec.of(Element.self)
    /// The frame whose items are being decoded.
    private var items: StreamItems?
    private var decoder: ObjectDecoder?
    /// The items of the frame that are not decoded.
    private var left = 0
    private var isDone = false
    /// How long a task waits for an element; nil for no limit.
    private let timeout: Duration?

    init(_ handle: StreamHandle, timeout: Duration?) {
        self.handle = handle
        self.timeout = timeout
        super.init()
    }

    // It may be freed anywhere, so it takes no lock of the connection and writes nothing itself.
    deinit {
        if let decoder { handle.connection.coder.recycle(decoder) }
        if let largeBytes = items?.body.takeLargeBytes(), largeBytes > 0 {
            handle.connection.loop.perform { [connection = handle.connection] in
                connection.consumed(largeBytes: largeBytes)
            }
        }
        if !isDone { handle.connection.streamReaderDied(handle.inbox) }
    }

    override func arrived() throws -> Element? {
        guard left > 0, let decoder else { return nil }
        left -= 1
        do { return try decoder.decodeTop(codec) } catch { throw failed(error) }
    }

    override func next() async throws -> Element? {
        while !isDone {
            if let element = try arrived() { return element }
            let finished = finishFrame()
            let next: StreamInbox.Next
            do { next = try await handle.next(after: finished, within: timeout) } catch {
                // After a time-out the stream goes on.
                isDone = error is CancellationError
                throw error
            }
            try take(next)
        }
        return nil
    }

    override func nextBlocking(within limit: Duration?) throws -> Element? {
        let deadline = limit.map { Deadline(after: $0, at: handle.connection.now) }
        while !isDone {
            if let element = try arrived() { return element }
            try take(handle.nextBlocking(after: finishFrame(), until: deadline))
        }
        return nil
    }

    private func take(_ next: StreamInbox.Next) throws {
        switch next {
        case .nothing: break
        case .items(let items): try begin(items)
        case .end(let end):
            isDone = true
            end.take(on: handle.connection)
            if let error = end.error(on: handle.connection) { throw error }
        }
    }

    private func begin(_ items: StreamItems) throws {
        self.items = items
        guard let (bytes, largeBytes) = items.body.bytes else {
            throw failed(ConnectionError(.wrongResult, "an item was not sent completely"))
        }
        do {
            decoder = try handle.connection.coder.decoder(bytes, largeBytes: largeBytes, tables: items.tables)
        } catch {
            throw failed(error)
        }
        left = items.count
    }

    /// Releases the frame.
    @discardableResult
    private func finishFrame() -> StreamItems? {
        if let decoder = decoder.take() { handle.connection.coder.recycle(decoder) }
        guard let finished = items.take() else { return nil }
        handle.connection.consumed(finished.body)
        left = 0
        return finished
    }

    private func failed(_ error: any Error) -> ConnectionError {
        let failure = ConnectionError(
            .wrongResult, "an item cannot be read as \(Element.self): \(sentence(for: error))", context: "the stream",
            underlying: error)
        finishFrame()
        isDone = true
        handle.stop(failure)
        return failure
    }
}
