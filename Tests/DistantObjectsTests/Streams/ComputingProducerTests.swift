import DistantObjects
import Synchronization
import TestSupport
import Testing

@Suite("A producer that computes between its elements", .bounded())
struct ComputingProducerTests {
    /// Computes, without a suspension, until each element has been read.
    private final class Computer: Vendable {
        let read = Atomic<Int>(0)

        static var messages: MessageTable<Computer> {
            Message("count", Computer.count)
        }

        func count(_ count: Int) -> DistantStream<Int> {
            DistantStream { writer in
                for number in 1...count {
                    try await writer.send(number)
                    // A task that is not cancelled by now gives up its thread nowhere here.
                    while self.read.load(ordering: .acquiring) < number, !Task.isCancelled { Self.pause() }
                }
            }
        }

        @inline(never)
        private static func pause() {}
    }

    @Test(
        "Each element arrives while the producer computes the next one",
        arguments: [Connection.PairTransport.socketpair, .pipes])
    func computedElements(transport: Connection.PairTransport) async throws {
        let (connection, peer) = try await Connection.pair(over: transport, first: .patient, second: .patient)
        let computer = Computer()
        peer.vend(computer)
        let stream: DistantStream<Int> = try await connection.root.count(20)
        var numbers: [Int] = []
        for try await number in stream {
            numbers.append(number)
            // Not over the connection, whose loop may be the one that the producer holds up.
            computer.read.store(number, ordering: .releasing)
        }
        #expect(numbers == Array(1...20))
        await connection.close()
        _ = await peer.ended
    }
}
