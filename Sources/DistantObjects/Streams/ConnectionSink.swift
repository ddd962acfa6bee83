import KeyedArchive
import PortTransport
import Synchronization

/// Sends the elements of one stream over a connection.
final class ConnectionSink<Element: Codable & Sendable>: BatchRewriter, @unchecked Sendable {
    // `elements` is guarded by the producer's lock.

    private let producer: StreamProducer
    private let codec = ValueCodec.of(Element.self)
    /// The elements of the batch, in case that they have to be encoded again.
    private var elements: [Element] = []

    init(_ producer: StreamProducer) { self.producer = producer }

    func offer(_ element: Element) throws -> StreamOffer {
        // If the loop goes on elsewhere at this moment, nobody else writes what is in the batch while the job computes.
        defer { settle() }
        return try producer.batch.withLock { batch in
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

    func awaitRoom() async throws { try await producer.awaitRoom() }

    func awaitRoomBlocking(within limit: Duration?) throws {
        try producer.awaitRoomBlocking(within: limit)
    }

    /// Writes what another thread could not write while the calling one added an element.
    func settle() { producer.flushIfWanted() }

    func writeOneByOne(_ batch: inout StreamProducer.Batch) throws {
        let rest = elements
        elements = []
        producer.empty(&batch)
        for element in rest { try producer.writeAlone(&batch) { try $0.encodeTop(element, codec) } }
    }
}
