import DistantObjects
import TestSupport
import Testing

@Suite("Streams sent by threads without a task", .bounded())
struct BlockingWriterTests {
    @Test("A closure on a thread of its own sends a stream", arguments: StreamPair.Transport.allCases)
    func ownThread(_ transport: StreamPair.Transport) async throws {
        let pair = try await StreamPair(transport)
        let sum = try await onThread { [remote = pair.remote] in
            let numbers = DistantStream<Int>.onThread { writer in
                for number in 0..<20_000 { try writer.blockingSend(number) }
            }
            return try remote.sum.blocking(numbers) as Int
        }
        #expect(sum == 199_990_000)
        await pair.rest()
        await pair.close()
    }

    @Test(
        "A slow reader leaves the thread waiting, and one that stops ends it",
        arguments: StreamPair.Transport.allCases)
    func slowReaderInBlockingWriter(_ transport: StreamPair.Transport) async throws {
        let pair = try await StreamPair(transport)
        let sent = Locked(0)
        let waits = Signal()
        let ended = Locked<ConnectionError.Code?>(nil)
        let stream = DistantStream<Int>.onThread { writer in
            do {
                while true {
                    do {
                        try writer.blockingSend(sent.withLock { $0 }, timeout: .milliseconds(1))
                        sent.withLock { $0 += 1 }
                    } catch let error as ConnectionError where error.code == .deadlineExceeded {
                        waits.send()
                    }
                }
            } catch {
                ended.withLock { $0 = (error as? ConnectionError)?.code }
                throw error
            }
        }
        try await pair.remote.message("kept")(stream)
        do {
            let kept = try #require(pair.object.keptStream.withLock { $0.take() })
            var iterator = kept.makeAsyncIterator()
            #expect(try await iterator.next() == 0)
            await waits.wait()
            // Everything that may be sent without more demand: the reader's credit.
            #expect(sent.withLock { $0 } <= 8_192)
            // What could not be sent in time was not sent, and nothing is missing.
            for number in 1..<20_000 { #expect(try await iterator.next() == number) }
        }
        await eventually("the thread has ended") { ended.withLock { $0 } != nil }
        #expect(ended.withLock { $0 } == .cancelled)
        await pair.rest()
        await pair.close()
    }

    @Test("It ends with a final value or with what it throws")
    func endingInBlockingWriter() async throws {
        let pair = try await StreamPair()
        let whole = DistantStream<Int>.WithFinal<Int>.onThread { writer in
            for number in 0..<10 { try writer.blockingSend(number) }
            return 45
        }
        try await pair.remote.message("keptFinal")(whole)
        let read = try #require(pair.object.keptFinal.withLock { $0.take() })
        #expect(try await read.final == 45)
        let failing = DistantStream<Int>.onThread { writer in
            try writer.blockingSend(1)
            throw NotFound(name: "the rest")
        }
        try await pair.remote.message("kept")(failing)
        var iterator = try #require(pair.object.keptStream.withLock { $0.take() }).makeAsyncIterator()
        #expect(try await iterator.next() == 1)
        await #expect(throws: NotFound(name: "the rest")) { try await iterator.next() }
        await pair.rest()
        await pair.close()
    }

    @Test("When the connection ends, the waiting thread gets an error", arguments: StreamPair.Transport.allCases)
    func cutInBlockingWriter(_ transport: StreamPair.Transport) async throws {
        let pair = try await StreamPair(transport)
        let code = Locked<ConnectionError.Code?>(nil)
        let stream = DistantStream<Int>.onThread { writer in
            do {
                while true { try writer.blockingSend(1) }
            } catch {
                code.withLock { $0 = (error as? ConnectionError)?.code }
            }
        }
        try await pair.remote.message("kept")(stream)
        var iterator = try #require(pair.object.keptStream.withLock { $0.take() }).makeAsyncIterator()
        #expect(try await iterator.next() == 1)
        pair.server.invalidate()
        await eventually("the thread has ended") { code.withLock { $0 } != nil }
        #expect(code.withLock { $0 } == .closed)
        _ = await pair.client.ended
    }

    @Test("In a task and on the loop it throws, and the element is not sent")
    func inTaskInBlockingWriter() async throws {
        let pair = try await StreamPair()
        let stream = DistantStream<Int> { writer in
            expectWouldBlock { try writer.blockingSend(1) }
            try await writer.send(2)
        }
        let sum: Int = try await pair.remote.sum(stream)
        #expect(sum == 2)
        await pair.rest()
        await pair.close()
    }

    @Test("It is read in its own process, too")
    func localInBlockingWriter() async throws {
        let stream = DistantStream<Int>.onThread { writer in
            for number in 0..<1_000 { try writer.blockingSend(number) }
        }
        #expect(try await stream.all() == Array(0..<1_000))
        let ended = Signal()
        let endless = DistantStream<Int>.onThread { writer in
            defer { ended.send() }
            while true { try writer.blockingSend(1) }
        }
        for try await _ in endless { break }
        await ended.wait()
    }
}
