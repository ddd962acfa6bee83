import Dispatch
import Synchronization
import TestSupport
import Testing

@testable import PortTransport

@Suite("Reading by a plain thread that waits", .bounded())
struct BlockingReaderTests {
    static let kinds: [ChannelTests.Kind] = ChannelTests.Kind.allCases

    /// A channel whose peer sends each frame back.
    static func echo(_ kind: ChannelTests.Kind, on loop: EventLoop = .shared) async throws -> (
        Channel, Channel, Recorder, Recorder
    ) {
        let holder = EndingTests.Holder(Guarded(nil))
        let there = Recorder(onFrame: { _, _, bytes in holder.channel.withLock { _ = $0?.send(bytes) } })
        let (a, b, here, _) = try await channels(kind, there: there, on: loop)
        holder.channel.withLock { $0 = b }
        return (a, b, here, there)
    }

    @Test("Blocking calls in a row, and the loop reads again after them", arguments: kinds)
    func rowInBlockingReader(kind: ChannelTests.Kind) async throws {
        try await row(kind: kind, on: .shared)
    }

    func row(kind: ChannelTests.Kind, on loop: EventLoop) async throws {
        let (a, b, here, there) = try await Self.echo(kind, on: loop)
        let results = await onPlainThread { () -> [Bool] in
            (1...200).map { index in
                a.send([UInt8(index)])
                let result = try? a.readWhileWaiting(until: { here.items.count >= index }, deadline: nil)
                if case .done? = result { return true }
                return false
            }
        }
        #expect(results.allSatisfy { $0 })
        // No thread waits now.
        b.send([77])
        await here.wait(forItems: 201)
        #expect(here.items.count == 201)
        await end(a, b, here, there)
    }

    @Test("Several threads at once: each gets its answer, whichever of them reads it")
    func severalInBlockingReader() async throws {
        let (a, b, here, there) = try await Self.echo(.socketpair)
        let numbers = Guarded(0)
        let counter = Counter(numbers)
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    await onPlainThread {
                        for _ in 0..<100 {
                            let want = counter.value.withLock { value in
                                value += 1
                                a.send([1])
                                return value
                            }
                            _ = try? a.readWhileWaiting(until: { here.items.count >= want }, deadline: nil)
                        }
                    }
                }
            }
        }
        #expect(here.items.count == 400)
        await end(a, b, here, there)
    }

    final class Counter: Sendable {
        let value: Guarded<Int>
        init(_ value: Guarded<Int>) { self.value = value }
    }

    @Test("A deadline, a signal, a cancellation and the peer's end each end the wait", arguments: kinds)
    func endsInBlockingReader(kind: ChannelTests.Kind) async throws {
        try await ends(kind: kind, on: .shared)
    }

    func ends(kind: ChannelTests.Kind, on loop: EventLoop) async throws {
        let (a, b, here, there) = try await channels(kind, on: loop)
        let late = await onPlainThread {
            try? a.readWhileWaiting(until: { false }, deadline: monotonicNow() + 20_000_000)
        }
        guard case .deadlineExceeded? = late else { return #expect(Bool(false), "\(String(describing: late))") }
        let isTrue = Atomic<Bool>(false)
        let flag = EventLoopTests.Flag(value: isTrue)
        _ = loop.addTimer(after: .milliseconds(10)) {
            flag.value.store(true, ordering: .releasing)
            a.signalBlockingReaders()
        }
        let signalled = await onPlainThread {
            try? a.readWhileWaiting(until: { flag.value.load(ordering: .acquiring) }, deadline: nil)
        }
        guard case .done? = signalled else { return #expect(Bool(false), "\(String(describing: signalled))") }
        _ = loop.addTimer(after: .milliseconds(10)) {
            if kind == .pipes {
                a.cancel(TransportError(.cancelled, "enough"))
            } else {
                b.cancel(TransportError(.cancelled, "enough"))
            }
        }
        let over = await onPlainThread { try? a.readWhileWaiting(until: { false }, deadline: nil) }
        guard case .ended? = over else { return #expect(Bool(false), "\(String(describing: over))") }
        await here.waitForEnd()
        await there.waitForEnd()
    }

    #if canImport(Glibc)
        @Test("In shared memory it finds what the peer has left, and its end, while the loop is held up")
        func endWithoutLoop() async throws {
            // Nobody takes over here.
            let loop = try EventLoop(configuration: EventLoop.Configuration(takeover: .seconds(3_600)))
            let (first, second) = try await connectedPair()
            let configuration = ChannelConfiguration(acceptsDescriptors: false)
            let (here, there) = (Recorder(), Recorder())
            let a = Channel(endpoint: first, loop: loop, configuration: configuration)
            let b = Channel(endpoint: second, loop: EventLoop.shared, configuration: configuration)
            a.start(here)
            b.start(there)
            try share(a, b)
            let gate = DispatchSemaphore(value: 0)
            await withCheckedContinuation { continuation in
                loop.perform {
                    continuation.resume()
                    gate.wait()
                }
            }
            for number in 0..<3 { b.send([UInt8(number)]) }
            b.cancel(TransportError(.cancelled, "enough"))
            let over = await onPlainThread { try? a.readWhileWaiting(until: { false }, deadline: nil) }
            guard case .ended? = over else { return #expect(Bool(false), "\(String(describing: over))") }
            #expect(here.items.map(\.firstByte) == [0, 1, 2])
            #expect(here.ends.isEmpty)
            gate.signal()
            await here.waitForEnd()
            await there.waitForEnd()
            #expect(here.ends.count == 1 && there.ends.count == 1)
            loop.stop()
        }
    #endif

    @Test("From a thread of the loop it throws instead of waiting for itself")
    func onLoop() async throws {
        let (a, b, here, there) = try await channels(.socketpair)
        let code = await withCheckedContinuation { continuation in
            EventLoop.shared.perform {
                do {
                    _ = try a.readWhileWaiting(until: { true }, deadline: nil)
                    continuation.resume(returning: TransportError.Code?.none)
                } catch {
                    continuation.resume(returning: (error as? TransportError)?.code)
                }
            }
        }
        #expect(code == .wouldBlockLoop)
        await end(a, b, here, there)
    }
}
