import DistantObjects
import Synchronization
import TestSupport
import Testing

@Suite("Streams", .bounded())
struct StreamTests {
    @Test("A message returns a stream, whose elements arrive in order", arguments: StreamPair.Transport.allCases)
    func valuesInStream(_ transport: StreamPair.Transport) async throws {
        let pair = try await StreamPair(transport)
        for count in [0, 1, 2, 10_000] {
            let stream: DistantStream<Int> = try await pair.remote.count(count)
            #expect(try await stream.all() == Array(0..<count))
        }
        await pair.rest()
        await pair.close()
    }

    @Test("Items of any size arrive", arguments: StreamPair.Transport.allCases, [10, 40_000, 70_000, 3 << 20])
    func sizesInStream(_ transport: StreamPair.Transport, size: Int) async throws {
        let pair = try await StreamPair(transport)
        let stream: DistantStream<[UInt8]> = try await pair.remote.blobs(20, size)
        let blobs = try await stream.all()
        #expect(blobs.count == 20 && blobs.enumerated().allSatisfy { $1.count == size && $1.first == UInt8($0) })
        await pair.rest()
        await pair.close()
    }

    @Test("A message takes a stream, and one may be open in each direction", arguments: StreamPair.Transport.allCases)
    func bothDirections(_ transport: StreamPair.Transport) async throws {
        let pair = try await StreamPair(transport)
        let sum: Int = try await pair.remote.sum(DistantStream(0..<1_000))
        #expect(sum == 499_500)
        let doubled: DistantStream<Int> = try await pair.remote.doubled(DistantStream(0..<5_000))
        #expect(try await doubled.all() == (0..<5_000).map { $0 * 2 })
        await pair.rest()
        await pair.close()
    }

    @Test("Elements may be references", arguments: StreamPair.Transport.allCases)
    func referencesInStream(_ transport: StreamPair.Transport) async throws {
        let pair = try await StreamPair(transport)
        let stream: DistantStream<DistantObject> = try await pair.remote.objects(1_000)
        var count = 0
        for try await directory in stream {
            if count % 100 == 0 {
                let echo: Int = try await directory.echo(count)
                #expect(echo == count)
            }
            count += 1
        }
        #expect(count == 1_000)
        // The other way, with objects of this side.
        let own = DistantStream<DistantObject> { writer in
            for _ in 0..<300 { try await writer.send(DistantObject(standingFor: Directory())) }
        }
        #expect(try await pair.remote.echoes(own) == 300)
        await pair.rest()
        await pair.close()
    }

    @Test("One frame carries many items of a source that does not suspend", arguments: StreamPair.Transport.allCases)
    func batches(_ transport: StreamPair.Transport) async throws {
        let pair = try await StreamPair(transport)
        let stream: DistantStream<Int> = try await pair.remote.count(20_000)
        let before = pair.client.statistics.framesIn
        let start = ContinuousClock.now
        #expect(try await stream.all() == Array(0..<20_000))
        // A source that computes for long has its elements written each millisecond, by its own thread or by a timer.
        let milliseconds = UInt64((ContinuousClock.now - start) / .milliseconds(1))
        #expect(pair.client.statistics.framesIn - before < 400 + 2 * milliseconds)
        await pair.rest()
        await pair.close()
    }

    @Test("A stream may lie inside structures and arrays, and outlives its call")
    func nestedInStream() async throws {
        let pair = try await StreamPair()
        let report: Streaming.Report = try await pair.remote.report()
        try await pair.client.barrier()
        #expect(try await report.parts[1].all() == [10, 11])
        #expect(try await report.parts[0].all() == [0, 1, 2])
        await pair.rest()
        await pair.close()
    }

    @Test("A stream carries a final value", arguments: StreamPair.Transport.allCases)
    func finalInStream(_ transport: StreamPair.Transport) async throws {
        let pair = try await StreamPair(transport)
        let stream: DistantStream<Int>.WithFinal<String> = try await pair.remote.summed(100)
        var count = 0
        for try await _ in stream { count += 1 }
        #expect(try await stream.final == "sum 4950")
        #expect(try await stream.final == "sum 4950")
        #expect(count == 100)
        let skipped: DistantStream<Int>.WithFinal<String> = try await pair.remote.summed(20_000)
        #expect(try await skipped.final == "sum 199990000")
        await pair.rest()
        await pair.close()
    }

    @Test("A final value waits for the reader of the elements")
    func finalWaitsInStream() async throws {
        let pair = try await StreamPair()
        let stream: DistantStream<Int>.WithFinal<String> = try await pair.remote.summed(3)
        var iterator = stream.makeAsyncIterator()
        #expect(try await iterator.next() == 0)
        async let final = stream.final
        while try await iterator.next() != nil {}
        #expect(try await final == "sum 3")
        await pair.close()
    }

    @Test("What the sequence throws arrives after the elements before it", arguments: StreamPair.Transport.allCases)
    func throwingInStream(_ transport: StreamPair.Transport) async throws {
        let pair = try await StreamPair(transport)
        let stream: DistantStream<Int> = try await pair.remote.failing(1_000)
        var read: [Int] = []
        await #expect(throws: NotFound(name: "the rest")) {
            for try await number in stream { read.append(number) }
        }
        #expect(read == Array(0..<1_000))
        await pair.rest()
        await pair.close()
    }

    @Test("An element that cannot be encoded ends the stream after those before it", arguments: [0, 1, 10, 600])
    func notEncodable(before: Int) async throws {
        let pair = try await StreamPair()
        let stream: DistantStream<Streaming.Broken> = try await pair.remote.broken(before)
        var read = 0
        await #expect(throws: (any Error).self) { for try await _ in stream { read += 1 } }
        #expect(read == before)
        await pair.rest()
        await pair.close()
    }

    @Test("A reader that stops, or whose task is cancelled, cancels the producer", arguments: [false, true])
    func cancelFromReader(byTask: Bool) async throws {
        let pair = try await StreamPair()
        let stream: DistantStream<[UInt8]> = try await pair.remote.endless(10)
        let task = Task {
            var count = 0
            for try await _ in stream {
                count += 1
                if !byTask, count == 10 { break }
                if byTask, count == 10 { withUnsafeCurrentTask { $0?.cancel() } }
            }
        }
        switch await task.result {
        case .success: #expect(!byTask)
        case .failure(let error): #expect(byTask && error is CancellationError)
        }
        await pair.object.cancelled.wait()
        await pair.object.released.wait()
        await pair.rest()
        await pair.close()
    }

    @Test("A reader that is cancelled while it waits ends at once")
    func cancelWaiting() async throws {
        let pair = try await StreamPair()
        let (source, continuation) = AsyncStream<Int>.makeStream()
        let stream: DistantStream<Int> = try await pair.remote.slow(DistantStream(source))
        continuation.yield(1)
        let waiting = Signal()
        let task = Task {
            for try await number in stream {
                #expect(number == 10)
                waiting.send()
            }
        }
        await waiting.wait()
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        await pair.rest()
        continuation.finish()
        await pair.close()
    }

    @Test("A source that suspends does not wait for its elements to become many")
    func lockstep() async throws {
        let pair = try await StreamPair()
        let (source, continuation) = AsyncStream<Int>.makeStream()
        let stream: DistantStream<Int> = try await pair.remote.slow(DistantStream(source))
        var iterator = stream.makeAsyncIterator()
        for number in 0..<200 {
            continuation.yield(number)
            #expect(try await iterator.next() == number * 10)
        }
        continuation.finish()
        #expect(try await iterator.next() == nil)
        await pair.rest()
        await pair.close()
    }

    @Test("A writer is suspended while its reader pauses", arguments: StreamPair.Transport.allCases)
    func slowReaderInStream(_ transport: StreamPair.Transport) async throws {
        let pair = try await StreamPair(transport)
        let stream: DistantStream<[UInt8]> = try await pair.remote.endless(1 << 10)
        var iterator = stream.makeAsyncIterator()
        var (read, sent) = (0, 0)
        for _ in 0..<4 {
            for _ in 0..<max(1, sent - read) {
                #expect(try await iterator.next() != nil)
                read += 1
            }
            try await pair.suspendWriter()
            let before = sent
            sent = pair.object.sent.load(ordering: .relaxed)
            // It has gone on, but not far.
            #expect(sent > before && sent <= read + 512)
            for _ in 0..<20 { try await pair.client.ping() }
            #expect(pair.object.sent.load(ordering: .relaxed) == sent)
        }
        await pair.close()
    }

    @Test("A second iteration throws, also of a stream that was sent")
    func onceInStream() async throws {
        let pair = try await StreamPair()
        let stream: DistantStream<Int> = try await pair.remote.count(3)
        #expect(try await stream.all() == [0, 1, 2])
        await expectCode(.streamUsed) { _ = try await stream.all() }
        let own = DistantStream(0..<3)
        let sum: Int = try await pair.remote.sum(own)
        #expect(sum == 3)
        await expectCode(.streamUsed) { _ = try await own.all() }
        // The method throws what its own iteration throws.
        await #expect(throws: RemoteError.self) { let _: Int = try await pair.remote.sum(own) }
        await pair.rest()
        await pair.close()
    }

    @Test("A stream goes on to a third process through the second")
    func relay() async throws {
        let (first, second) = (try await StreamPair(), try await StreamPair(.pipes))
        let stream: DistantStream<Int> = try await first.remote.count(5_000)
        let sum: Int = try await second.remote.sum(stream)
        #expect(sum == 12_497_500)
        await first.rest()
        await first.close()
        await second.close()
    }

    @Test("A peer that does not know streams gets no message with one, and the error names the feature")
    func olderPeerInStream() async throws {
        let peer = try await RawPeerConnection(.socketpair, hello: RawPeer.greeting(features: 16))
        let root = try await peer.root()
        let frames = peer.connection.statistics.framesOut
        do {
            try await root.message("take")(DistantStream(0..<3))
            Issue.record("nothing was thrown")
        } catch let error as ConnectionError {
            #expect(error.code == .notAvailable && error.message.contains("64"))
        }
        #expect(peer.connection.statistics.framesOut == frames)
        peer.raw.close()
        _ = await peer.connection.ended
    }

    @Test("Closing ends streams in both directions with an error", arguments: StreamPair.Transport.allCases)
    func closingInStream(_ transport: StreamPair.Transport) async throws {
        let pair = try await StreamPair(transport)
        let theirs: DistantStream<[UInt8]> = try await pair.remote.endless(10)
        var iterator = theirs.makeAsyncIterator()
        #expect(try await iterator.next() != nil)
        let (source, continuation) = AsyncStream<Int>.makeStream()
        try await pair.remote.message("kept")(DistantStream(source))
        let kept = try #require(pair.object.keptStream.withLock { $0 })
        continuation.yield(1)
        var reader = kept.makeAsyncIterator()
        #expect(try await reader.next() == 1)
        await pair.client.close()
        await #expect(throws: ConnectionError.self) { while try await iterator.next() != nil {} }
        await expectCode(.closed) { while try await reader.next() != nil {} }
        _ = await pair.server.ended
        await pair.object.cancelled.wait()
        #expect(pair.client.statistics.streams == 0 && pair.server.statistics.streams == 0)
    }

    @Test("When the connection is cut, readers and writers end with an error", arguments: StreamPair.Transport.allCases)
    func cutInStream(_ transport: StreamPair.Transport) async throws {
        let pair = try await StreamPair(transport)
        let theirs: DistantStream<[UInt8]> = try await pair.remote.endless(10)
        var iterator = theirs.makeAsyncIterator()
        #expect(try await iterator.next() != nil)
        let unread: DistantStream<Int> = try await pair.remote.held()
        pair.server.invalidate()
        _ = await pair.client.ended
        await expectCode(.outcomeUnknown) { while try await iterator.next() != nil {} }
        await expectCode(.outcomeUnknown) { _ = try await unread.all() }
        await pair.object.cancelled.wait()
        await eventually("the sources are released") { pair.object.released.count == 2 }
        #expect(pair.client.statistics.streams == 0 && pair.server.statistics.streams == 0)
    }

    @Test("A sequence that gives nothing more is cancelled when the connection ends", arguments: [false, true])
    func waitingSourceInStream(isClosed: Bool) async throws {
        let pair = try await StreamPair()
        let stream: DistantStream<Int> = try await pair.remote.held()
        var iterator = stream.makeAsyncIterator()
        #expect(try await iterator.next() == 1)
        if isClosed { await pair.server.close() } else { pair.client.invalidate() }
        _ = await pair.server.ended
        await pair.object.released.wait()
    }

    @Test("Elements of another type are an error, and the stream ends")
    func wrongType() async throws {
        let pair = try await StreamPair()
        let stream: DistantStream<String> = try await pair.remote.count(10)
        await expectCode(.wrongResult) { _ = try await stream.all() }
        await expectCode(.wrongResult) { let _: DistantStream<Int> = try await pair.remote.sum(DistantStream([1])) }
        await pair.rest()
        await pair.close()
    }

    @Test("Streams work with an object of this process, too")
    func localInStream() async throws {
        let object = Streaming()
        let remote = DistantObject(standingFor: object)
        let stream: DistantStream<Int> = try await remote.count(1_000)
        #expect(try await stream.all() == Array(0..<1_000))
        let sum: Int = try await remote.sum(DistantStream(0..<10))
        #expect(sum == 45)
        let summed: DistantStream<Int>.WithFinal<String> = try await remote.summed(100)
        #expect(try await summed.final == "sum 4950")
        let endless: DistantStream<[UInt8]> = try await remote.endless(1)
        for try await _ in endless { break }
        await object.cancelled.wait()
        let failing: DistantStream<Int> = try await remote.failing(2)
        // Nothing lists the type of the error.
        await #expect(throws: RemoteError.self) { _ = try await failing.all() }
    }

    @Test("Many streams are open at a time, and more than allowed are refused before they are sent")
    func manyInStream() async throws {
        var server = Connection.Configuration.patient
        server.limits.streams = 50
        var client = Connection.Configuration.patient
        client.limits.streams = 2
        let pair = try await StreamPair(client: client, server: server)
        var streams: [DistantStream<Int>] = []
        for _ in 0..<50 { streams.append(try await pair.remote.message("count")(10)) }
        await expectCode(.overloaded) { let _: DistantStream<Int> = try await pair.remote.count(1) }
        var own: [DistantStream<Int>] = (0..<2).map { _ in DistantStream(0..<3) }
        own.append(DistantStream(0..<3))
        await expectCode(.overloaded) { try await pair.remote.message("kept")(own) }
        for stream in streams { #expect(try await stream.all().count == 10) }
        await pair.rest()
        await pair.close()
    }

    #if !canImport(Darwin)
        @Test(
            "A gibibyte of large items, and many small ones, go through 16 MiB of memory, while the reader pauses",
            .disabled(if: Sanitizer.isActive, "sanitizers need more memory than that"), arguments: [64, 1 << 20])
        func flatMemory(size: Int) async {
            await #expect(processExitsWith: .success) { [size] in
                PeakMemory.giveBackFreedBlocks()
                for transport in StreamPair.Transport.allCases {
                    let pair = try await StreamPair(transport)
                    let warm: DistantStream<[UInt8]> = try await pair.remote.blobs(20, size)
                    _ = try await warm.all()
                    let count = (size < 1 << 20 ? 16 << 20 : 1 << 30) / size
                    var read = 0
                    // Both ends are in this process.
                    let growth = try await PeakMemory.growth {
                        let stream: DistantStream<[UInt8]> = try await pair.remote.blobs(count, size)
                        for try await _ in stream {
                            read += 1
                            // The writer is far from its end.
                            if read % (count / 8) == 1 { try await pair.suspendWriter() }
                        }
                    }
                    #expect(read == count && growth < 16 << 20, "\(growth) bytes over \(transport)")
                    await pair.close()
                }
            }
        }
    #endif
}
