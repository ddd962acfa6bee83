import KeyedArchive
import Synchronization

/// A sequence of this process that is sent as a stream, or read here.
final class LocalStream<Element: Codable & Sendable, Final: Codable & Sendable>: StreamSource, ProducingSource,
    @unchecked Sendable
{
    // `body` and `reading` have their own locks.

    typealias Body = @concurrent @Sendable (StreamWriter<Element>) async throws -> Final

    /// The code that makes the elements, until it has run or is given up.
    private let body: Mutex<Body?>
    /// The stream as this process reads it, if it does.
    private let reading = Mutex<StreamHandle?>(nil)

    init(_ body: @escaping Body, readAhead: Int?) {
        self.body = Mutex(body)
        super.init(readAhead: readAhead)
    }

    override func dispose() {
        let dropped = body.withLock { $0.take() }
        withExtendedLifetime(dropped) {}
    }

    func produce(in producer: StreamProducer) async throws -> (ObjectEncoder) throws -> Void {
        guard let body = body.withLock({ $0.take() }) else { throw DeadStream.used.error }
        let sink = ConnectionSink<Element>(producer)
        producer.rewriter = sink
        let value = try await body(StreamWriter(sink: sink))
        guard Final.self != NoFinalValue.self else { return { _ in } }
        return { try $0.encodeTop(value) }
    }

    /// The stream as code of this process reads it: over a connection within the process.
    ///
    /// - Throws: `ConnectionError.streamUsed` if it was sent.
    func handle() throws -> StreamHandle {
        try reading.withLock { reading in
            if let reading { return reading }
            let handle = try open()
            reading = handle
            return handle
        }
    }

    private func open() throws -> StreamHandle {
        let (reader, owner) = try Connection.loopback(.home)
        let entry = owner.state.withLock { state in
            state.session.streams.reference(to: self, isOpen: true, limit: state.session.limits.streams)
        }
        guard case .stream(let number)? = entry, DeadStream(rawValue: number) == nil else {
            throw DeadStream.used.error
        }
        let handle = try reader.state.withLock { state in
            StreamHandle(try state.session.streams.enter(number) { _ in true }, on: reader)
        }
        owner.beginOpen()
        reader.beginOpen()
        return handle
    }
}
