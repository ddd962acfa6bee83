import KeyedArchive
import PortTransport
import Synchronization

/// Sends the elements of one stream over a connection.
final class ConnectionSink<Element: Codable & Sendable>: StreamSink<Element>, BatchRewriter, @unchecked Sendable {
    // `elements` is guarded by the producer's lock.

    private let producer: StreamProducer
    private let codec = ValueCodec.of(Element.self)
    /// The elements of the batch, in case that they have to be encoded again.
    private var elements: [Element] = []

    init(_ producer: StreamProducer) { self.producer = producer }

    override func offer(_ element: Element) throws -> StreamOffer {
        try producer.batch.withLock { batch in
            guard try producer.begin(&batch), let message = batch.message else { return .full }
            if batch.count == 0 { elements.removeAll(keepingCapacity: true) }
            do {
                try message.encoder.encodeTop(element, codec)
            } catch {
                try writeOneByOne(&batch)
                throw ConnectionError.unsent(error, "the stream", position: nil)
            }
            elements.append(element)
            batch.count += 1
            let offer = try producer.added(to: &batch)
            if batch.count == 0 { elements.removeAll(keepingCapacity: true) }
            return offer
        }
    }

    override func awaitRoom() async throws { try await producer.awaitRoom() }

    override func awaitRoomBlocking(within limit: Duration?) throws {
        try producer.awaitRoomBlocking(within: limit)
    }

    override func settle() { producer.flushIfWanted() }

    func writeOneByOne(_ batch: inout StreamProducer.Batch) throws {
        let rest = elements
        elements = []
        producer.empty(&batch)
        for element in rest { try producer.writeAlone(&batch) { try $0.encodeTop(element, codec) } }
    }
}
