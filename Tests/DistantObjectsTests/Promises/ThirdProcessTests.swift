import DistantObjects
import TestSupport
import Testing

/// A process asks a second one, which answers with the answers of a third.
@Suite("Answers of a third process", .bounded())
struct ThirdProcessTests {
    typealias Numbers = DistantStream<[Int]>.WithFinal<Int>

    @Test("Streams and shared bytes of its answers reach the caller's caller", arguments: KilledProcess.Way.allCases)
    func relaying(over way: KilledProcess.Way) async throws {
        try await Chain.use(over: way) { board in
            let count: DistantStream<Int> = try await board.relayCount(5_000)
            var expected = 0
            for try await number in count {
                #expect(number == expected)
                expected += 1
            }
            #expect(expected == 5_000)
            let numbers: Numbers = try await board.relayNumbers(600)
            var squares: [[Int]] = []
            for try await number in numbers { squares.append(number) }
            #expect(squares == (0..<600).map { [$0, $0 * $0] })
            #expect(try await numbers.final == 600)
            for size in [100, 1 << 20] {
                let bytes: SharedBytes = try await board.relayBytes(size)
                #expect(Array(bytes) == (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31) })
            }
            // The caller's own stream goes to the third process and comes back, each time read through the second one.
            let own = Numbers { writer in
                for number in 0..<300 { try await writer.send([number]) }
                return 300
            }
            let same: Numbers = try await board.relaySame(own)
            var back: [[Int]] = []
            for try await number in same { back.append(number) }
            #expect(back == (0..<300).map { [$0] })
            #expect(try await same.final == 300)
        }
    }

    @Test("What the caller's caller cannot know is refused, and its connection goes on")
    func refusingInThirdProcess() async throws {
        try await Chain.use { board in
            await expectCode(.foreignReference) { let _: DistantObject = try await board.relayItself() }
            await expectCode(.foreignReference) { try await board.relayNothing(3) }
            let error = await #expect(throws: RemoteError.self) { try await board.relayFail(3) }
            #expect(error?.typeName == "StreamError")
            // A stream is no object, so it cannot be promised.
            await expectCode(.noObject) { let _: String = try await board.relayCount.promise(3).name() }
            await expectCode(.noObject) { let _: String = try await board.count.promise(3).name() }
        }
    }

    @Test("That the third process is closing is no word of the second one")
    func closingInThirdProcess() async throws {
        try await Chain.use { board in
            let waiting = Task { try await board.relayWait() }
            try await board.relayLeave()
            let connection = try #require(board.connection)
            // The first call is refused by the third process, the others are not sent to it.
            for _ in 0..<2 {
                let tail = await #expect(throws: RemoteError.self) { let _: String = try await board.relayName() }
                #expect(tail?.code == .closed)
                #expect(!connection.isEnded)
                let asked = await #expect(throws: RemoteError.self) { let _: String = try await board.askName() }
                #expect(asked?.code == .closed)
                #expect(!connection.isEnded)
                await #expect(throws: RemoteError.self) {
                    let _: String = try await board.relayName.promise().name()
                }
                #expect(!connection.isEnded)
            }
            #expect(try await board.name() as String == "board")
            waiting.cancel()
            _ = await waiting.result
        }
    }
}

/// A process with a switchboard, which has launched a third one.
private struct Chain {
    static func use(
        over way: KilledProcess.Way = .socket, _ body: @Sendable (DistantObject) async throws -> Void
    ) async throws {
        let second = try await KilledProcess("killed-peer", over: way)
        let board = try await second.connection.root(named: "switchboard")
        try await board.launch()
        try await body(board)
        #expect(!second.connection.isEnded)
        #expect(try await board.name() as String == "board")
        second.kill()
        _ = await second.connection.ended
    }
}
