import TestSupport
import Testing

@testable import PortTransport

/// What every kind of endpoint does alike.
@Suite("A channel, over whatever it runs", .bounded())
struct ChannelTests {
    enum Kind: String, CaseIterable, Sendable {
        case memory, splittingMemory, socketpair, pipes, pathSocket
        /// Without descriptors, which is read in another way.
        case plainSocketpair, plainPathSocket
        /// A socket that tells of the end alone.
        case sharedMemory

        #if canImport(Darwin)
            static let allCases: [Kind] = onAllSystems
        #else
            static let allCases: [Kind] = onAllSystems + [.sharedMemory]
        #endif
        private static let onAllSystems: [Kind] = [
            .memory, .splittingMemory, .socketpair, .pipes, .pathSocket, .plainSocketpair, .plainPathSocket,
        ]

        func pair() async throws -> (ChannelEndpoint, ChannelEndpoint) {
            switch self {
            case .memory: return MemoryLink.pair()
            case .splittingMemory: return MemoryLink.pair(seed: 7, capacity: 5_000)
            case .socketpair, .plainSocketpair: return try ChannelEndpoint.socketPair()
            case .pipes: return try ChannelEndpoint.pipePair()
            case .pathSocket, .plainPathSocket, .sharedMemory: return try await connectedPair()
            }
        }

        var takesDescriptors: Bool { ![.plainSocketpair, .plainPathSocket, .sharedMemory].contains(self) }
    }

    @Test("Frames arrive whole, in order, numbered from 1, both ways", arguments: Kind.allCases)
    func framesArriveInOrder(kind: Kind) async throws {
        let (a, b, here, there) = try await channels(kind)
        for index in 0..<500 {
            a.send(pattern(index, seed: index), kind: UInt8(index % 200), flags: UInt8(index % 100))
            b.send([UInt8(index % 256)])
        }
        await there.wait(forItems: 500)
        await here.wait(forItems: 500)
        for index in 0..<500 {
            let number = UInt64(index + 1)
            let sent = Recorder.Item.frame(
                kind: UInt8(index % 200), flags: UInt8(index % 100), number: number, pattern(index, seed: index),
                descriptors: [])
            let answered = Recorder.Item.frame(
                kind: 1, flags: 0, number: number, [UInt8(index % 256)], descriptors: [])
            #expect(there.items[index] == sent)
            #expect(here.items[index] == answered)
        }
        await end(a, b, here, there)
    }

    @Test("What several threads enqueue arrives in the order of the numbers it was given", arguments: Kind.allCases)
    func orderOfNumbers(kind: Kind) async throws {
        let (a, b, here, there) = try await channels(kind)
        let given = Guarded<[UInt64: [UInt8]]>([:])
        await withTaskGroup(of: Void.self) { group in
            for thread: UInt8 in 0..<6 {
                group.addTask {
                    await onPlainThread {
                        for index: UInt8 in 0..<100 {
                            let number =
                                index % 25 == 7
                                ? a.sendLarge([], prefix: [thread, index]) : a.send([thread, index])
                            given.withLock { $0[number] = [thread, index] }
                        }
                    }
                }
            }
        }
        // 24 of the 600 are large messages, with an end of their own.
        await there.wait(forItems: 624)
        var last: UInt64 = 0
        for item in there.items {
            let number: UInt64
            let body: [UInt8]
            switch item {
            case .frame(_, _, let itsNumber, let bytes, _): (number, body) = (itsNumber, bytes)
            case .opener(let itsNumber, let bytes, _): (number, body) = (itsNumber, bytes)
            case .largeMessage: continue
            }
            #expect(number == last + 1)
            #expect(given.withLock { $0[number] } == body)
            last = number
        }
        #expect(last == 600)
        await end(a, b, here, there)
    }

    @Test("Large messages arrive whole, whatever their size and pieces", arguments: Kind.allCases)
    func largeMessagesArrive(kind: Kind) async throws {
        let (a, b, here, there) = try await channels(kind)
        let sizes = [0, 1, 65_535, 65_536, 65_537, 300_000, 3_000_000]
        for size in sizes { a.sendLarge(pattern(size, seed: size), prefix: [1, 2, 3], pieces: size % 40 + 1) }
        await there.wait(forItems: sizes.count * 2)
        for (index, size) in sizes.enumerated() {
            let number = UInt64(index + 1)
            #expect(there.items.contains(.opener(number: number, [1, 2, 3], length: UInt64(size))))
            #expect(there.items.contains(.largeMessage(number: number, pattern(size, seed: size))))
            // The peer may have read it before this side notes that it is written.
            while !a.isWritten(number) { await Task.yield() }
        }
        await end(a, b, here, there)
    }

    @Test("The end of the peer's output is the end of the channel, after all it sent", arguments: Kind.allCases)
    func finishing(kind: Kind) async throws {
        let (a, b, here, there) = try await channels(kind)
        for index in 0..<100 { a.send([UInt8(index)]) }
        let message = a.sendLarge(pattern(200_000))
        a.finishWriting()
        guard case .endOfFile? = await there.waitForEnd() else { return #expect(Bool(false), "\(there.ends)") }
        #expect(there.items.count == 102)
        #expect(a.isWritten(message))
        b.cancel(TransportError(.cancelled, "done"))
        await here.waitForEnd()
        #expect(here.ends.count == 1 && there.ends.count == 1)
    }

    @Test(
        "What the peer sent before it went is read to its end, though it was not read until then",
        arguments: [Kind.pipes, .plainPathSocket, .pathSocket], [1, 2_000, 30_000])
    func endBeforeFirstRead(kind: Kind, count: Int) async throws {
        for _ in 0..<10 {
            let (first, second) = try await kind.pair()
            let configuration = ChannelConfiguration(acceptsDescriptors: kind.takesDescriptors)
            let (here, there) = (Recorder(), Recorder())
            let a = Channel(endpoint: first, loop: EventLoop.shared, configuration: configuration)
            let b = Channel(endpoint: second, loop: EventLoop.shared, configuration: configuration)
            a.start(here)
            a.send(pattern(count))
            a.send(pattern(count))
            a.finishWriting()
            b.start(there)
            guard case .endOfFile? = await there.waitForEnd() else { return #expect(Bool(false), "\(there.ends)") }
            #expect(there.items.count == 2)
            b.cancel(TransportError(.cancelled, "done"))
            await here.waitForEnd()
        }
    }
}

func channels(
    _ kind: ChannelTests.Kind, _ configuration: ChannelConfiguration = ChannelConfiguration(),
    here: Recorder = Recorder(), there: Recorder = Recorder(), on loop: EventLoop = .shared
) async throws -> (Channel, Channel, Recorder, Recorder) {
    let (first, second) = try await kind.pair()
    var configuration = configuration
    if !kind.takesDescriptors { configuration.acceptsDescriptors = false }
    configuration.answerKind = 1
    let a = Channel(endpoint: first, loop: loop, configuration: configuration)
    let b = Channel(endpoint: second, loop: loop, configuration: configuration)
    a.start(here)
    b.start(there)
    if kind == .sharedMemory {
        here.state.withLock { $0.channel = a }
        there.state.withLock { $0.channel = b }
        try share(a, b)
    }
    return (a, b, here, there)
}

/// Has two channels that have sent nothing yet go on in shared memory.
func share(_ a: Channel, _ b: Channel) throws {
    let descriptors = try #require(b.withReadLock { b.makeSharedMemory(tellsProcessor: true) })
    #expect(try a.withReadLock { try a.takeSharedMemory(descriptors, tellsProcessor: true) })
    Channel.closeForeign(descriptors)
    for channel in [a, b] {
        channel.queueLock.withLock { channel.shareOutput($0) }
        channel.withReadLock { channel.shareInput(channel.readLock.assumeHeld()) }
    }
}

func end(_ a: Channel, _ b: Channel, _ here: Recorder, _ there: Recorder) async {
    a.cancel(TransportError(.cancelled, "The test is over."))
    await here.waitForEnd()
    await there.waitForEnd()
    #expect(here.ends.count == 1)
    #expect(there.ends.count == 1)
}

func connectedPair() async throws -> (ChannelEndpoint, ChannelEndpoint) {
    let directory = try TemporaryFolder()
    let listener = try SocketListener(path: directory.path + "/s")
    return try await withCheckedThrowingContinuation { continuation in
        do {
            let box = try ChannelEndpoint.connect(path: directory.path + "/s")
            try listener.start { accepted, _ in
                listener.close()
                directory.remove()
                continuation.resume(returning: (box, accepted))
            }
        } catch {
            continuation.resume(throwing: error)
        }
    }
}
