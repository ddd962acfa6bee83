import Dispatch
import DistantObjects
import TestSupport
import Testing

extension DistantStream.BlockingIterator {
    /// All elements that are left.
    mutating func all() throws -> [Element] {
        var all: [Element] = []
        while let element = try next() { all.append(element) }
        return all
    }
}

@Suite("Streams read by threads without a task", .bounded())
struct BlockingStreamTests {
    @Test("A thread reads a stream to its end", arguments: StreamPair.Transport.allCases)
    func valuesInBlockingStream(_ transport: StreamPair.Transport) async throws {
        let pair = try await StreamPair(transport)
        for count in [0, 1, 2, 10_000] {
            let numbers = try await onThread { [remote = pair.remote] in
                let stream: DistantStream<Int> = try remote.count.blocking(count)
                var iterator = stream.makeBlockingIterator()
                let all = try iterator.all()
                #expect(try iterator.next() == nil)
                return all
            }
            #expect(numbers == Array(0..<count))
        }
        await pair.rest()
        await pair.close()
    }

    @Test("Items that come in fragments arrive", arguments: StreamPair.Transport.allCases)
    func largeInBlockingStream(_ transport: StreamPair.Transport) async throws {
        let pair = try await StreamPair(transport)
        let blobs = try await onThread { [remote = pair.remote] in
            let stream: DistantStream<[UInt8]> = try remote.blobs.blocking(20, 300_000)
            var iterator = stream.makeBlockingIterator()
            return try iterator.all()
        }
        #expect(blobs.count == 20 && blobs.enumerated().allSatisfy { $1.count == 300_000 && $1.first == UInt8($0) })
        await pair.rest()
        await pair.close()
    }

    @Test("A thread waits for a writer that is slow", arguments: StreamPair.Transport.allCases)
    func slowWriter(_ transport: StreamPair.Transport) async throws {
        let pair = try await StreamPair(transport)
        let (source, continuation) = AsyncStream<Int>.makeStream()
        let stream: DistantStream<Int> = try await pair.remote.slow(DistantStream(source))
        let arrived = Signal()
        let reading = Task {
            try await onThread { () throws in
                var iterator = stream.makeBlockingIterator()
                for number in 0..<100 {
                    #expect(try iterator.next() == number * 10)
                    arrived.send()
                }
                return try iterator.next()
            }
        }
        for number in 0..<100 {
            continuation.yield(number)
            await arrived.wait()
        }
        continuation.finish()
        #expect(try await reading.value == nil)
        await pair.rest()
        await pair.close()
    }

    @Test(
        "Threads read streams and call over one connection at the same time", arguments: StreamPair.Transport.allCases)
    func togetherInBlockingStream(_ transport: StreamPair.Transport) async throws {
        let pair = try await StreamPair(transport)
        let sums = try await withThrowingTaskGroup(of: Int.self) { group in
            for thread in 0..<6 {
                group.addTask {
                    try await onThread { [remote = pair.remote] in
                        guard thread < 4 else {
                            return try (0..<200).reduce(0) { sum, _ in
                                try sum + remote.sum.blocking(DistantStream([1])) as Int
                            }
                        }
                        let stream: DistantStream<Int> = try remote.count.blocking(5_000)
                        var iterator = stream.makeBlockingIterator()
                        return try iterator.all().reduce(0, +)
                    }
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(sums.sorted() == [200, 200] + [Int](repeating: 12_497_500, count: 4))
        await pair.rest()
        await pair.close()
    }

    @Test("What the sequence throws arrives after the elements before it, once")
    func throwingInBlockingStream() async throws {
        let pair = try await StreamPair()
        try await onThread { [remote = pair.remote] in
            let stream: DistantStream<Int> = try remote.failing.blocking(1_000)
            var iterator = stream.makeBlockingIterator()
            for number in 0..<1_000 { #expect(try iterator.next() == number) }
            #expect(throws: NotFound(name: "the rest")) { try iterator.next() }
            #expect(try iterator.next() == nil)
        }
        await pair.rest()
        await pair.close()
    }

    @Test("A thread gets the final value, after the elements or without them", arguments: StreamPair.Transport.allCases)
    func finalInBlockingStream(_ transport: StreamPair.Transport) async throws {
        let pair = try await StreamPair(transport)
        try await onThread { [remote = pair.remote] in
            let read: DistantStream<Int>.WithFinal<String> = try remote.summed.blocking(100)
            var iterator = read.makeBlockingIterator()
            #expect(try iterator.next() == 0)
            #expect(throws: ConnectionError.self) { try read.blockingFinal(timeout: .zero) }
            #expect(try iterator.all().count == 99)
            #expect(try read.blockingFinal() == "sum 4950")
            let skipped: DistantStream<Int>.WithFinal<String> = try remote.summed.blocking(20_000)
            #expect(try skipped.blockingFinal() == "sum 199990000")
        }
        await pair.rest()
        await pair.close()
    }

    @Test("Without a reader, a thread that wants the final value gets an error, also after the end of the connection")
    func finalWithoutReader() async throws {
        let pair = try await StreamPair()
        let stream: DistantStream<Int>.WithFinal<String> = try await pair.remote.summed(100_000)
        let isRead = Signal()
        let isOver = DispatchSemaphore(value: 0)
        let reading = Task {
            try await onThread { () throws in
                var iterator = stream.makeBlockingIterator()
                #expect(try iterator.next() == 0)
                isRead.send()
                isOver.wait()
                withExtendedLifetime(iterator) {}
            }
        }
        await isRead.wait()
        pair.client.invalidate()
        isOver.signal()
        try await reading.value
        try await onThread { () throws in
            _ = #expect(throws: ConnectionError.self) { try stream.blockingFinal() }
        }
        await #expect(throws: ConnectionError.self) { try await stream.final }
        await pair.close()
    }

    @Test("A thread waits for the final value while another one reads the elements")
    func finalWaitsInBlockingStream() async throws {
        let pair = try await StreamPair()
        let stream: DistantStream<Int>.WithFinal<String> = try await pair.remote.summed(3)
        let begun = Signal()
        let final = Signal()
        let reading = Task {
            try await onThread { () throws in
                var iterator = stream.makeBlockingIterator()
                begun.send()
                return try iterator.all().count
            }
        }
        await begun.wait()
        let value = try await onThread { () throws in
            defer { final.send() }
            return try stream.blockingFinal()
        }
        #expect(try await reading.value == 3)
        #expect(value == "sum 3" && final.count == 1)
        await pair.close()
    }

    @Test("A second iteration throws, and the first one goes on")
    func onceInBlockingStream() async throws {
        let pair = try await StreamPair()
        let stream: DistantStream<Int> = try await pair.remote.count(3)
        try await onThread { () throws in
            var iterator = stream.makeBlockingIterator()
            #expect(try iterator.next() == 0)
            var second = stream.makeBlockingIterator()
            let error = #expect(throws: ConnectionError.self) { try second.next() }
            #expect(error?.code == .streamUsed)
            #expect(try iterator.all() == [1, 2])
        }
        await expectCode(.streamUsed) { _ = try await stream.all() }
        await pair.rest()
        await pair.close()
    }

    @Test("An iterator that is let go cancels the producer")
    func letGo() async throws {
        let pair = try await StreamPair()
        try await onThread { [remote = pair.remote] in
            let stream: DistantStream<[UInt8]> = try remote.endless.blocking(10)
            var iterator = stream.makeBlockingIterator()
            #expect(try iterator.next() != nil)
        }
        await pair.object.cancelled.wait()
        await pair.object.released.wait()
        await pair.rest()
        await pair.close()
    }

    @Test("At the deadline a thread stops waiting, and no element is lost", arguments: StreamPair.Transport.allCases)
    func deadlineInBlockingStream(_ transport: StreamPair.Transport) async throws {
        let pair = try await StreamPair(transport)
        let (source, continuation) = AsyncStream<Int>.makeStream()
        let stream: DistantStream<Int> = try await pair.remote.slow(DistantStream(source))
        try await onThread { () throws in
            var iterator = stream.makeBlockingIterator()
            for limit in [Duration.zero, .milliseconds(1), .seconds(-1)] {
                let error = #expect(throws: ConnectionError.self) { try iterator.next(timeout: limit) }
                #expect(error?.code == .deadlineExceeded)
            }
            continuation.yield(1)
            continuation.yield(2)
            continuation.finish()
            #expect(try iterator.all() == [10, 20])
        }
        await pair.rest()
        await pair.close()
    }

    @Test("A final value that does not come in time stops a stream that nothing else reads")
    func finalDeadline() async throws {
        let pair = try await StreamPair()
        let stream = DistantStream<Int>.WithFinal<Int> { writer in
            while true { try await writer.send(1) }
        }
        let back: DistantStream<Int>.WithFinal<Int> = try await pair.remote.message("endlessFinal")()
        for value in [stream, back] {
            try await onThread { () throws in
                let error = #expect(throws: ConnectionError.self) {
                    try value.blockingFinal(timeout: .milliseconds(1))
                }
                #expect(error?.code == .deadlineExceeded)
            }
        }
        await pair.rest()
        await pair.close()
    }

    @Test(
        "When the connection is cut, a thread gets what has arrived, then an error",
        arguments: StreamPair.Transport.allCases)
    func cutInBlockingStream(_ transport: StreamPair.Transport) async throws {
        let pair = try await StreamPair(transport)
        let (source, continuation) = AsyncStream<Int>.makeStream()
        let stream: DistantStream<Int> = try await pair.remote.slow(DistantStream(source))
        continuation.yield(1)
        let arrived = Signal()
        let reading = Task {
            try await onThread { () throws in
                var iterator = stream.makeBlockingIterator()
                #expect(try iterator.next() == 10)
                arrived.send()
                let error = #expect(throws: ConnectionError.self) { try iterator.next() }
                #expect(try iterator.next() == nil)
                return error?.code
            }
        }
        await arrived.wait()
        pair.server.invalidate()
        #expect(try await reading.value == .outcomeUnknown)
        _ = await pair.client.ended
        continuation.finish()
    }

    @Test("When either side closes, a thread that reads gets an error", arguments: [false, true])
    func closingInBlockingStream(byReader: Bool) async throws {
        let pair = try await StreamPair()
        let (source, continuation) = AsyncStream<Int>.makeStream()
        let stream: DistantStream<Int> = try await pair.remote.slow(DistantStream(source))
        let began = Signal()
        let reading = Task {
            try await onThread { () throws in
                var iterator = stream.makeBlockingIterator()
                began.send()
                let error = #expect(throws: ConnectionError.self) { try iterator.next() }
                return error?.code
            }
        }
        await began.wait()
        await (byReader ? pair.client : pair.server).close()
        #expect(try await reading.value == .closed)
        continuation.finish()
    }

    @Test("In a task the blocking functions throw, and the stream can still be read")
    func inTaskInBlockingStream() async throws {
        let pair = try await StreamPair()
        let stream: DistantStream<Int>.WithFinal<String> = try await pair.remote.summed(3)
        expectWouldBlock { try stream.blockingFinal() }
        #expect(try await stream.final == "sum 3")
        let other: DistantStream<Int> = try await pair.remote.count(3)
        var iterator = other.makeBlockingIterator()
        expectWouldBlock { try iterator.next() }
        await pair.rest()
        await pair.close()
    }

    @Test("Threads read streams of their own process, too")
    func localInBlockingStream() async throws {
        try await onThread { () throws in
            let (source, continuation) = AsyncStream<Int>.makeStream()
            var iterator = DistantStream(source).makeBlockingIterator()
            let error = #expect(throws: ConnectionError.self) { try iterator.next(timeout: .milliseconds(1)) }
            #expect(error?.code == .deadlineExceeded)
            for number in 0..<200 { continuation.yield(number) }
            continuation.finish()
            #expect(try iterator.all() == Array(0..<200))
            let failing = DistantStream<Int> { writer in
                try await writer.send(1)
                throw NotFound(name: "the rest")
            }
            var failed = failing.makeBlockingIterator()
            #expect(try failed.next() == 1)
            // As over any connection that does not list the type.
            #expect(throws: RemoteError.self) { try failed.next() }
            let final = DistantStream<Int>.WithFinal<Int> { writer in
                for number in 0..<1_000 { try await writer.send(number) }
                return 7
            }
            #expect(try final.blockingFinal() == 7)
        }
    }
}

func expectWouldBlock(_ body: () throws -> some Any, location: SourceLocation = #_sourceLocation) {
    let error = #expect(throws: ConnectionError.self, sourceLocation: location) { _ = try body() }
    #expect(error?.code == .wouldBlock, sourceLocation: location)
}
