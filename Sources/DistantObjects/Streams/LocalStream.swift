import KeyedArchive
import Synchronization

/// A sequence of this process that is sent as a stream, or read here.
final class LocalStream<Element: Codable & Sendable, Final: Codable & Sendable>: StreamSource, ProducingSource,
    @unchecked Sendable
{
    // `body` has its own lock; the pipe never changes.

    typealias Body = @concurrent @Sendable (StreamWriter<Element>) async throws -> Final

    /// The code that makes the elements, until it has run or is given up.
    private let body: Mutex<Body?>
    /// The pipe to a reader in this process, if there is one.
    let pipe = LocalPipe<Element>()

    init(_ body: @escaping Body) { self.body = Mutex(body) }

    override func dispose() {
        let dropped = body.withLock { $0.take() }
        withExtendedLifetime(dropped) {}
    }

    func produce(in producer: StreamProducer) async throws -> (ObjectEncoder) throws -> Void {
        let sink = ConnectionSink<Element>(producer)
        producer.rewriter = sink
        let value = try await run(sink)
        guard Final.self != NoFinalValue.self else { return { _ in } }
        return { try $0.encodeTop(value) }
    }

    /// Starts the code for a reader in this process.
    func startLocally() {
        pipe.start { sink in try await self.run(sink) }
    }

    @concurrent
    private func run(_ sink: StreamSink<Element>) async throws -> Final {
        guard let body = body.withLock({ $0.take() }) else { throw DeadStream.used.error }
        return try await body(StreamWriter(sink: sink))
    }
}
