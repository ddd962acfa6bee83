import CPortShims
import Synchronization
import TestSupport
import Testing

@testable import PortTransport

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

@Suite("The end of a channel", .bounded())
struct EndingTests {
    @Test("Cancelling ends both sides once, and wakes the peer", arguments: ChannelTests.Kind.allCases)
    func cancelling(kind: ChannelTests.Kind) async throws {
        let (a, b, here, there) = try await channels(kind)
        a.send([1])
        await there.wait(forItems: 1)
        for _ in 0..<3 { a.cancel(TransportError(.cancelled, "enough")) }
        guard case .cancelled(let reason)? = await here.waitForEnd() else { return #expect(Bool(false)) }
        #expect(reason.message == "enough")
        guard case .endOfFile? = await there.waitForEnd() else { return #expect(Bool(false), "\(there.ends)") }
        b.cancel(TransportError(.cancelled, "too late"))
        #expect(a.send([2]) == 2)
        #expect(a.isWritten(1) && !a.isWritten(2))
        #expect(here.ends.count == 1 && there.ends.count == 1)
    }

    @Test("A channel that is over before it starts ends its handler all the same", arguments: [false, true])
    func cancelledBeforeStart(isOver: Bool) {
        let loop = ManualLoop()
        let (first, second) = MemoryLink.pair()
        let here = Recorder()
        weak var channel: Channel?
        do {
            let a = Channel(endpoint: first, loop: loop)
            channel = a
            a.cancel(TransportError(.cancelled, "enough"))
            if isOver { loop.runUntilIdle() }
            a.start(here)
            a.start(here)
            loop.runUntilIdle()
        }
        #expect(here.ends.count == 1)
        #expect(channel == nil)
        withExtendedLifetime(second) {}
    }

    @Test("A handler that throws ends the channel with its error, after its last word was sent")
    func throwingInEnding() async throws {
        struct Refused: Error {}
        let holder = Guarded<Channel?>(nil)
        let shared = Holder(holder)
        let there = Recorder(onFrame: { _, _, _ in
            shared.channel.withLock { channel in _ = channel?.send([9]) }
            throw Refused()
        })
        let (a, b, here, _) = try await channels(.socketpair, there: there)
        shared.channel.withLock { $0 = b }
        a.send([1])
        guard case .failed(let error)? = await there.waitForEnd() else { return #expect(Bool(false)) }
        #expect(error.code == .handlerFailed)
        await here.waitForEnd()
        #expect(here.items == [.frame(kind: 1, flags: 0, number: 1, [9], descriptors: [])])
        shared.channel.withLock { $0 = nil }
        withExtendedLifetime(a) {}
    }

    /// Something that happens, and that a test waits for.
    final class Signal: Sendable {
        private let state = Guarded<(fired: Bool, waiters: [CheckedContinuation<Void, Never>])>((false, []))

        func fire() {
            let waiters = state.withLock { state in
                state.fired = true
                defer { state.waiters = [] }
                return state.waiters
            }
            for waiter in waiters { waiter.resume() }
        }

        func wait() async {
            await withCheckedContinuation { continuation in
                let fired = state.withLock { state in
                    if !state.fired { state.waiters.append(continuation) }
                    return state.fired
                }
                if fired { continuation.resume() }
            }
        }
    }

    final class Holder: Sendable {
        let channel: Guarded<Channel?>
        init(_ channel: Guarded<Channel?>) { self.channel = channel }
    }

    @Test("The end of the input inside a frame or a large message is an error", arguments: [5, 12, 40])
    func truncationInEnding(count: Int) async throws {
        let (mine, theirs) = try ChannelEndpoint.socketPairDescriptors()
        let there = Recorder()
        let b = Channel(endpoint: try .socket(theirs), loop: EventLoop.shared)
        b.start(there)
        let whole = FrameReaderTests.frame(2, 0x80, FrameReaderTests.number(100))
        let bytes = whole + FrameReaderTests.frame(0xFF, 0, FrameReaderTests.number(1) + pattern(50))
        #expect(write(mine, bytes, count) == count)
        close(mine)
        guard case .failed(let error)? = await there.waitForEnd() else { return #expect(Bool(false)) }
        #expect(error.code == .truncated)
        // The handler was asked for its last word, once.
        #expect(there.state.withLock { $0.failures.map(\.code) } == [.truncated])
        withExtendedLifetime(b) {}
    }

    @Test("What a peer sent before it went is delivered, though writing to it fails")
    func drainingAfterFailure() async throws {
        for _ in 0..<50 {
            let (mine, theirs) = try ChannelEndpoint.socketPairDescriptors()
            let here = Recorder()
            let a = Channel(endpoint: try .socket(mine), loop: EventLoop.shared)
            var bytes: [UInt8] = []
            for index in 0..<200 { bytes += FrameReaderTests.frame(1, 0, [UInt8(index)]) }
            #expect(write(theirs, bytes, bytes.count) == bytes.count)
            close(theirs)
            // A program that another test starts may have it, too, until it runs.
            while !port_is_hung_up(mine) { await Task.yield() }
            a.start(here)
            a.send(pattern(1_000))
            let end = await here.waitForEnd()
            #expect(here.items.count == 200, "\(String(describing: end))")
            #expect(!a.isWritten(1))
        }
    }

    @Test("Half a frame written is finished before anything else, and nothing is lost when the peer is slow")
    func partialWrites() async throws {
        let (mine, theirs) = try ChannelEndpoint.socketPairDescriptors()
        let here = Recorder()
        let a = Channel(endpoint: try .socket(mine), loop: EventLoop.shared)
        a.start(here)
        var expected: [UInt8] = []
        for index in 0..<40 {
            expected += FrameReaderTests.frame(1, 0, pattern(30_000, seed: index))
            a.send(pattern(30_000, seed: index))
        }
        #expect(a.queuedBytes > 0)
        #expect(a.isWritten(1) && !a.isWritten(40))
        let count = expected.count
        let read = await onPlainThread { () -> [UInt8] in
            var all: [UInt8] = []
            var piece = [UInt8](repeating: 0, count: 777)
            while all.count < count {
                let got = readSome(theirs, &piece)
                if got <= 0 { break }
                all += piece[..<got]
            }
            return all
        }
        #expect(read == expected)
        close(theirs)
        await here.waitForEnd()
        #expect(a.isWritten(40))
    }

    @Test("A large message given up ends so for the peer, and those behind it arrive")
    func aborting() async throws {
        for kind in [ChannelTests.Kind.socketpair, .splittingMemory, .pipes] {
            let (mine, theirs) = try await kind.pair()
            let here = Recorder()
            let there = Recorder()
            let a = Channel(endpoint: mine, loop: EventLoop.shared)
            let b = Channel(endpoint: theirs, loop: EventLoop.shared)
            a.start(here)
            // Nobody reads yet, so the first is held up in its midst.
            let large = pattern(4_000_000)
            let small = pattern(100_000)
            let (first, second, third) = (a.sendLarge(large), a.sendLarge(large), a.sendLarge(small))
            a.abort(second)
            a.abort(first)
            a.abort(first)
            b.start(there)
            await there.wait(forItems: 6)
            let items = there.items
            #expect(items.contains(.largeMessage(number: third, small)))
            let isSecondAborted = items.contains(.largeMessage(number: second, nil))
            let isFirstAborted = items.contains(.largeMessage(number: first, nil))
            #expect(isSecondAborted && isFirstAborted)
            // The peer may have read it before this side notes that it is written.
            while !a.isWritten(third) { await Task.yield() }
            #expect(!a.isWritten(first) && !a.isWritten(second))
            await end(a, b, here, there)
        }
    }

    @Test("Without credit no large message follows one that fills the window; frames do")
    func creditInEnding() async throws {
        let configuration = ChannelConfiguration(window: 100_000)
        let (a, b, here, there) = try await channels(.socketpair, configuration)
        a.sendLarge(pattern(90_000))
        let second = a.sendLarge(pattern(20_000))
        a.send([5])
        await there.wait(forItems: 4)
        let isFirstWhole = there.items.contains(.largeMessage(number: 1, pattern(90_000)))
        #expect(isFirstWhole)
        #expect(!a.isWritten(second))
        b.consumedMessageBytes(90_000)
        #expect(a.messageCredit(90_001) == .notOwed)
        #expect(a.messageCredit(90_000) == .mayGoOn)
        a.setNeedsFlush()
        await there.wait(forItems: 5)
        #expect(there.items.last == .largeMessage(number: second, pattern(20_000)))
        await end(a, b, here, there)
    }

    @Test("A small frame passes a large message that is under way")
    func passingInEnding() async throws {
        let (mine, theirs) = try ChannelEndpoint.socketPair()
        let here = Recorder()
        let there = Recorder()
        let a = Channel(endpoint: mine, loop: EventLoop.shared)
        let b = Channel(endpoint: theirs, loop: EventLoop.shared)
        a.start(here)
        // Nobody reads yet, so most of it has to wait.
        a.sendLarge(pattern(6_000_000))
        a.send([1])
        b.start(there)
        await there.wait(forItems: 3)
        let passed = there.items[1] == .frame(kind: 1, flags: 0, number: 2, [1], descriptors: [])
        #expect(passed)
        await end(a, b, here, there)
    }

    @Test("A started channel whose user is gone lives until its peer is gone, and is freed then")
    func lifetimeInEnding() async throws {
        weak var gone: Channel?
        let (mine, theirs) = try ChannelEndpoint.socketPairDescriptors()
        let here = Recorder()
        do {
            let channel = Channel(endpoint: try .socket(mine), loop: EventLoop.shared)
            gone = channel
            channel.start(here)
        }
        #expect(gone != nil)
        close(theirs)
        await here.waitForEnd()
        // The loop lets go of it right after the call that ended the wait.
        while gone != nil { await Task.yield() }
    }
}

private func readSome(_ descriptor: CInt, _ buffer: inout [UInt8]) -> Int {
    let count = buffer.count
    return read(descriptor, &buffer, count)
}
