import DistantObjects
import Synchronization
import TestSupport
import Testing

/// An error that fails to encode.
private struct StubbornError: Error, Codable, CustomStringConvertible {
    struct Refusal: Error {}

    var description: String { "the pump is stuck" }

    init() {}
    init(from decoder: any Decoder) throws { throw Refusal() }
    func encode(to encoder: any Encoder) throws { throw Refusal() }
}

/// An error with much content.
private struct LongError: Error, Codable, CustomStringConvertible {
    let log: [String]
    var description: String { "the log has \(log.count) lines" }
}

private final class Pump: Vendable {
    static var messages: MessageTable<Pump> {
        Message("fail", Pump.fail)
        Message("drops", Pump.drops)
    }

    static func failure(_ lines: Int) -> any Error {
        lines == 0 ? StubbornError() : LongError(log: Array(repeating: "a line", count: lines))
    }

    func fail(_ lines: Int) throws -> Int { throw Self.failure(lines) }

    /// Two drops, and then the failure.
    func drops(_ lines: Int) -> DistantStream<Int> {
        DistantStream { writer in
            for drop in 1...2 { try await writer.send(drop) }
            throw Self.failure(lines)
        }
    }
}

@Suite("Errors whose content cannot be sent", .bounded())
struct UnsendableErrorTests {
    /// A client that takes small messages only, and knows the types of the errors.
    private func connect() async throws -> (Pair, DistantObject) {
        var configuration = Connection.Configuration.patient
        configuration.errorTypes = [StubbornError.self, LongError.self]
        configuration.limits.message = 16 << 10
        let pair = try await Pair(client: configuration)
        pair.server.vend(Pump(), as: "pump")
        return (pair, try await pair.client.root(named: "pump"))
    }

    @Test("They arrive with their type and their text", arguments: [0, 100_000])
    func thrown(lines: Int) async throws {
        let (pair, pump) = try await connect()
        let expected = RemoteError(
            typeName: lines == 0 ? "StubbornError" : "LongError",
            message: lines == 0 ? "the pump is stuck" : "the log has 100000 lines")
        for _ in 0..<2 {
            let error = await #expect(throws: RemoteError.self) { let _: Int = try await pump.fail(lines) }
            #expect(error == expected)
        }
        let read = Mutex<[Int]>([])
        let ended = await #expect(throws: RemoteError.self) {
            let drops: DistantStream<Int> = try await pump.drops(lines)
            for try await drop in drops { read.withLock { $0.append(drop) } }
        }
        #expect(ended == expected && read.withLock { $0 } == [1, 2])
        // One that can be sent is read as its type.
        let short = await #expect(throws: LongError.self) { let _: Int = try await pump.fail(3) }
        #expect(short?.log == ["a line", "a line", "a line"])
        await pair.client.close()
    }
}
