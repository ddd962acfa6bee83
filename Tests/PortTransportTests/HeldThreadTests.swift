// The shims' headers bring `sigset_t`, which then counts as theirs.
import CPortShims
import TestSupport
import Testing

@testable import PortTransport

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Peers that have the kernel hold the loop's thread in a read or a write.
@Suite("A loop whose thread is held in the kernel", .serialized, .bounded())
struct HeldThreadTests {
    /// Two channels over a socketpair on a loop of their own.
    struct Bystanders {
        let loop: EventLoop
        let a: Channel
        let b: Channel
        let here = Recorder()
        let there = Recorder()

        init(takeover: Duration = .milliseconds(1), polling: PollingMode = .adaptive) throws {
            loop = try EventLoop(configuration: EventLoop.Configuration(polling: polling, takeover: takeover))
            let (first, second) = try ChannelEndpoint.socketPair()
            a = Channel(endpoint: first, loop: loop)
            b = Channel(endpoint: second, loop: loop)
            a.start(here)
            b.start(there)
        }

        /// Sends a frame, which comes only if the loop goes on.
        func exchange() async {
            let count = there.items.count
            a.send([UInt8(count)])
            await there.wait(forItems: count + 1)
            #expect(there.items.count == count + 1)
        }

        func end() async {
            await PortTransportTests.end(a, b, here, there)
            loop.stop()
        }
    }

    private static func makeBlocking(_ descriptor: CInt) {
        #expect(fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) & ~O_NONBLOCK) == 0)
    }

    @Test(
        "In a write: other channels go on, and its own when it comes back",
        arguments: [PollingMode.off, .adaptive, .always(.microseconds(100)), .always(.seconds(600))])
    func heldInWrite(polling: PollingMode) async throws {
        let others = try Bystanders(polling: polling)
        let (first, second) = try ChannelEndpoint.pipePair()
        let (here, there) = (Recorder(), Recorder())
        let a = Channel(endpoint: first, loop: others.loop)
        let b = Channel(endpoint: second, loop: others.loop)
        Self.makeBlocking(a.link.outputDescriptor)
        a.start(here)
        // More than a pipe takes, and nobody reads it yet.
        let sizes = (60..<70).map { $0 * 1_000 }
        others.loop.perform {
            for size in sizes { a.send(pattern(size, seed: size)) }
        }
        // In the same iteration; but in that of a successor if the first piece takes so long that it is taken over.
        others.loop.perform { others.a.send([0]) }
        await others.there.wait(forItems: 1)
        for _ in 0..<100 { await others.exchange() }
        #expect(others.loop.threadCount >= 2)
        b.start(there)
        await there.wait(forItems: sizes.count)
        #expect(
            there.items
                == sizes.enumerated().map {
                    .frame(kind: 1, flags: 0, number: UInt64($0 + 1), pattern($1, seed: $1), descriptors: [])
                })
        a.send([1])
        b.send([2])
        await there.wait(forItems: sizes.count + 1)
        await here.wait(forItems: 1)
        a.finishWriting()
        b.finishWriting()
        await here.waitForEnd()
        await there.waitForEnd()
        await others.end()
    }

    @Test(
        "In a read: other channels go on, and its own when it comes back",
        arguments: [PollingMode.off, .adaptive, .always(.microseconds(100)), .always(.seconds(600))])
    func heldInRead(polling: PollingMode) async throws {
        let others = try Bystanders(polling: polling)
        let input = try ChannelEndpoint.pipeDescriptors()
        let output = try ChannelEndpoint.pipeDescriptors()
        let there = Recorder()
        let b = Channel(endpoint: .ownPipes(reading: input.0, writing: output.1), loop: others.loop)
        Self.makeBlocking(b.link.inputDescriptor)
        // As much as one read asks for, and no whole frame, so that it reads once more.
        let frame = FrameReaderTests.frame(1, 0, pattern(70_000))
        #expect(frame.prefix(64 << 10).withUnsafeBytes { write(input.1, $0.baseAddress, $0.count) } == 64 << 10)
        b.start(there)
        for _ in 0..<100 { await others.exchange() }
        // Nobody waits for what the thread is doing.
        while others.loop.threadCount < 2 { await others.exchange() }
        for _ in 0..<100 { await others.exchange() }
        #expect(there.items.isEmpty)
        let rest = frame.dropFirst(64 << 10)
        #expect(rest.withUnsafeBytes { write(input.1, $0.baseAddress, $0.count) } == rest.count)
        await there.wait(forItems: 1)
        #expect(there.items == [.frame(kind: 1, flags: 0, number: 1, pattern(70_000), descriptors: [])])
        b.send([1])
        close(input.1)
        await there.waitForEnd()
        close(output.0)
        await others.end()
    }

    @Test(
        "A channel that another thread reads is passed over, and read when that thread is done",
        arguments: [ChannelTests.Kind.pipes, .plainPathSocket, .pathSocket, .sharedMemory])
    func passedOver(kind: ChannelTests.Kind) async throws {
        // Nobody takes over here.
        let others = try Bystanders(takeover: .seconds(3_600))
        let (first, second) = try await kind.pair()
        let configuration = ChannelConfiguration(acceptsDescriptors: kind.takesDescriptors)
        let (here, there) = (Recorder(), Recorder())
        let a = Channel(endpoint: first, loop: EventLoop.shared, configuration: configuration)
        let b = Channel(endpoint: second, loop: others.loop, configuration: configuration)
        a.start(here)
        b.start(there)
        if kind == .sharedMemory { try share(a, b) }
        for round in 0..<50 {
            await onPlainThread { _ = b.readLock.lock() }
            a.send([UInt8(round)])
            for _ in 0..<3 { await others.exchange() }
            #expect(there.items.count == round)
            b.unlockReading(b.readLock.assumeHeld())
            await there.wait(forItems: round + 1)
        }
        #expect(there.items.count == 50)
        await onPlainThread { _ = b.readLock.lock() }
        a.send([50])
        a.finishWriting()
        for _ in 0..<3 { await others.exchange() }
        b.cancel(TransportError(.cancelled, "The test is over."))
        for _ in 0..<3 { await others.exchange() }
        #expect(there.ends.isEmpty)
        b.unlockReading(b.readLock.assumeHeld())
        await there.waitForEnd()
        await here.waitForEnd()
        #expect(there.ends.count == 1 && here.ends.count == 1)
        await others.end()
    }

    @Test("A channel that is passed over is read, also where a reservation for blocking calls has not run out")
    func passedOverAfterReservation() async throws {
        // No watchdog ends the reservation here.
        let others = try Bystanders(takeover: .seconds(3_600))
        let (first, second) = try await connectedPair()
        let configuration = ChannelConfiguration(acceptsDescriptors: false)
        let (here, there) = (Recorder(), Recorder())
        let a = Channel(endpoint: first, loop: EventLoop.shared, configuration: configuration)
        let b = Channel(endpoint: second, loop: others.loop, configuration: configuration)
        a.start(here)
        b.start(there)
        let isReserved = await onPlainThread { () -> Bool in
            repeat { b.readOnce() } while !b.isReserved
            // A call that comes later than the row gives reading back to the loop.
            repeat {
                let pause = monotonicNow() + 1_000_000
                while monotonicNow() < pause {}
                b.readOnce()
            } while b.isReserved
            return b.gate.withLock { b.gated.blockingReader.isWatched }
        }
        #expect(isReserved)
        await onPlainThread { _ = b.readLock.lock() }
        a.send([1])
        for _ in 0..<3 { await others.exchange() }
        #expect(there.items.isEmpty)
        b.unlockReading(b.readLock.assumeHeld())
        await there.wait(forItems: 1)
        #expect(there.items.count == 1)
        await end(a, b, here, there)
        await others.end()
    }
}

extension Channel {
    /// A blocking call that finds its answer as soon as it reads.
    func readOnce() {
        var reads = false
        _ = try? readWhileWaiting(
            until: {
                defer { reads = true }
                return reads
            }, deadline: nil)
    }

    /// Whether the loop keeps away for the next blocking reader.
    var isReserved: Bool { gate.withLock { gated.blockingReader.reader == .reserved } }
}
