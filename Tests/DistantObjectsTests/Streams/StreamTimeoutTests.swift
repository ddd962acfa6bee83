import DistantObjects
import DistantTesting
import Synchronization
import TestSupport
import Testing

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

private struct SlowInterface: Interface {
    let numbers = Signature<DistantStream<Int>.WithFinal<String>>("numbers")
}

/// Sends a number whenever a test says so.
private final class Slow: Vendable, Implements {
    typealias I = SlowInterface

    static var messages: MessageTable<Slow> { Message(\I.numbers, Slow.numbers) }

    let gates = (0..<3).map { _ in Signal() }

    func numbers() -> DistantStream<Int>.WithFinal<String> {
        DistantStream<Int>.WithFinal { [gates] writer in
            for (number, gate) in gates.enumerated() {
                await gate.wait()
                try await writer.send(number)
            }
            return "all"
        }
    }
}

@Suite("Time-outs of streams", .bounded())
struct StreamTimeoutTests {
    /// Asks again after each time-out, since the machine may be slow.
    private static func patiently<Element>(_ next: () async throws -> Element?) async throws -> Element? {
        while true {
            do { return try await next() } catch let error as ConnectionError {
                guard error.code == .deadlineExceeded else { throw error }
            }
        }
    }

    @Test("The error of an element that is late says that the process answers, and the stream goes on")
    func late() async throws {
        let pair = try await ConnectionPair(first: .patient, second: .patient, seed: TestSeed.next())
        let slow = Slow()
        try pair.second.vend(slow)
        let stream = try await pair.first.root(as: SlowInterface.self).numbers()
        var iterator = stream.timeout(.milliseconds(20)).makeAsyncIterator()
        for number in 0..<3 {
            var error: ConnectionError?
            // On a busy machine the answer to the ping may be late, too.
            repeat {
                error = await #expect(throws: ConnectionError.self) { try await iterator.next() }
            } while error?.message.contains("has not answered a ping") == true
            #expect(error?.code == .deadlineExceeded)
            #expect(error?.message.contains("the other process answers a ping") == true)
            slow.gates[number].send()
            #expect(try await Self.patiently { try await iterator.next() } == number)
        }
        #expect(try await Self.patiently { try await iterator.next() } == nil)
        #expect(try await stream.final == "all")
        await pair.first.close()
    }

    @Test("The error says that a process that stands still does not answer, and when it goes on, so does the stream")
    func stopped() async throws {
        let process = try await KilledProcess("killed-peer", over: .socket)
        let spring = try await process.connection.root(named: "spring")
        let stream: DistantStream<[Int]>.WithFinal<Int> = try await spring.numbers(600, "the end")
        let child = try #require(process.connection.child)
        await child.stop()
        var iterator = stream.timeout(.milliseconds(10)).makeAsyncIterator()
        let error = await #expect(throws: ConnectionError.self) { try await iterator.next() }
        #expect(error?.code == .deadlineExceeded)
        #expect(error?.message.contains("has not answered a ping") == true)
        child.send(SIGCONT)
        for number in 0..<600 { #expect(try await Self.patiently { try await iterator.next() } == [number]) }
        #expect(try await Self.patiently { try await iterator.next() } == nil)
        process.kill()
        _ = await process.connection.ended
    }

    @Test("A time-out that is long enough changes nothing, and a task that is cancelled stops the stream")
    func inTime() async throws {
        let pair = try await ConnectionPair(first: .patient, second: .patient)
        let slow = Slow()
        try pair.second.vend(slow)
        let remote = try await pair.first.root(as: SlowInterface.self)
        let waiting = try await remote.numbers()
        let task = Task { for try await _ in waiting.timeout(.seconds(1_000)) {} }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        for gate in slow.gates { gate.send() }
        var numbers: [Int] = []
        for try await number in try await remote.numbers().timeout(.seconds(1_000)) { numbers.append(number) }
        #expect(numbers == [0, 1, 2])
        await pair.first.close()
    }
}
