import Dispatch
import DistantObjects
import Synchronization
import TestSupport
import Testing

#if canImport(Glibc)
    import Glibc
#endif

@Suite("Closing and ending", .bounded())
struct EndingTests {
    @Test("An orderly close answers calls that were read and refuses later ones")
    func orderly() async throws {
        let pair = try await Pair()
        let directory = try await pair.client.root
        let task = Task { () -> Int in try await directory.hold() }
        await pair.directory.started.wait()
        let closing = Task { await pair.server.close(timeout: TestTimeout.wait) }
        await pair.server.awaitClosing()
        pair.directory.go.send()
        // The call that ran when the close began is answered.
        #expect(try await task.value == 7)
        _ = await closing.value
        await expectCode(.closed) { let _: Int = try await directory.echo(1) }
        guard case .closedByPeer = await pair.client.ended else {
            Issue.record("the client did not see an orderly close")
            return
        }
        guard case .closedHere = await pair.server.ended else {
            Issue.record("the server did not close")
            return
        }
        #expect(
            "\(await pair.server.ended), \(await pair.client.ended)"
                == "this side closed the connection, the peer closed the connection")
    }

    @Test("An orderly close also waits for the answers to this side's calls", arguments: [true, false])
    func ownCalls(overSocket: Bool) async throws {
        let pair = try await Pair(over: overSocket ? .socketpair : .pipes)
        let directory = try await pair.client.root
        let task = Task { () -> Int in try await directory.hold() }
        await pair.directory.started.wait()
        let closing = Task { await pair.client.close(timeout: TestTimeout.wait) }
        await pair.client.awaitClosing()
        // Calls of the peer that arrive now are refused, and so are answered.
        await expectCode(.closed) { _ = try await pair.server.root }
        pair.directory.go.send()
        #expect(try await task.value == 7)
        _ = await closing.value
        guard case .closedByPeer = await pair.server.ended else {
            Issue.record("the server did not see an orderly close")
            return
        }
        #expect(pair.client.statistics.isAtRest)
        #expect(pair.server.statistics.isAtRest)
    }

    @Test("One-way messages sent before an orderly close are all handled", arguments: [true, false])
    func oneWayBeforeClose(overSocket: Bool) async throws {
        let pair = try await Pair(over: overSocket ? .socketpair : .pipes)
        do {
            let directory = try await pair.client.root
            // It blocks its object, so that the others wait in the mailbox when the Goodbye arrives.
            try await directory.block.oneWay()
            for number in 0..<600 { try await directory.note.oneWay(number) }
            try await directory.noteSlowly.oneWay(600)
        }
        let closing = Task { await pair.client.close(timeout: TestTimeout.wait) }
        await pair.server.awaitClosing()
        #expect(pair.directory.log.withLock { $0.isEmpty })
        pair.directory.gate.signal()
        _ = await closing.value
        guard case .closedByPeer = await pair.server.ended else {
            Issue.record("the server did not see an orderly close")
            return
        }
        #expect(pair.directory.log.withLock { $0 } == Array(0...600) + [-600])
    }

    @Test("A connection cut in the middle of a call ends it once, with an unknown outcome")
    func cutInEnding() async throws {
        let pair = try await Pair()
        let directory = try await pair.client.root
        let task = Task { let _: Int = try await directory.wait() }
        await pair.directory.started.wait()
        pair.server.invalidate()
        await expectCode(.outcomeUnknown) { try await task.value }
        guard case .lost = await pair.client.ended else {
            Issue.record("the client did not see the connection as lost")
            return
        }
        // The serving task was cancelled and the objects were released.
        await pair.directory.stopped.wait()
        #expect(pair.client.statistics.isAtRest)
    }

    @Test("A call on a connection that has ended says that it was not sent")
    func afterEnd() async throws {
        let pair = try await Pair()
        let directory = try await pair.client.root
        pair.client.invalidate()
        _ = await pair.client.ended
        await expectCode(.closed) { let _: Int = try await directory.echo(1) }
        await expectCode(.closed) { try await directory.note.oneWay(1) }
        await expectCode(.closed) { try await pair.client.ping() }
        _ = await pair.server.ended
    }

    @Test("All exported objects are released at the end")
    func exportsFreed() async throws {
        let pair = try await Pair()
        weak var observer: Observer?
        do {
            let strong = Observer()
            observer = strong
            try await pair.client.root.watch(strong)
        }
        #expect(observer != nil)
        pair.directory.observer.withLock { $0 = nil }
        pair.server.invalidate()
        _ = await pair.client.ended
        #expect(observer == nil)
    }

    @Test("A replaced root may vend another in its deinit, and a root vended after the end is not kept")
    func replacedRoots() async throws {
        let pair = try await Pair()
        let gone = Signal()
        pair.server.vend(Heir(gone) { [server = pair.server] in server.vend(Observer(), as: "heir") })
        pair.server.vend(Directory())
        #expect(gone.count == 1)
        let heir = try await pair.client.root(named: "heir")
        let count: Int = try await heir.count()
        #expect(count == 0)
        await pair.client.close()
        _ = await pair.server.ended
        pair.server.vend(Heir(gone) {})
        #expect(gone.count == 2)
    }

    @Test("Pings are answered while a method is busy")
    func ping() async throws {
        let pair = try await Pair()
        let directory = try await pair.client.root
        let task = Task { let _: Int = try await directory.wait() }
        await pair.directory.started.wait()
        try await pair.client.ping()
        task.cancel()
        _ = await task.result
        await pair.close()
    }

    #if os(Linux)
        @Test(
            "If other code closes descriptors, their connections end, and a loop that lost its own goes on"
        )
        func closedDescriptors() async {
            await #expect(processExitsWith: .success) {
                let kept = try await Connection.pair(first: .patient, second: .patient)
                kept.1.vend(Directory())
                let root = try await kept.0.root
                // Dispatch then has its own poller, which must not be closed.
                await Usage.startTimers()
                let before = Set(Usage.open.keys)
                let lost = try await Connection.pair(over: .pipes, first: .patient, second: .patient)
                let pollers = Usage.pollers
                #expect(!pollers.isEmpty)
                // Descriptors that the runtime has opened since do not belong to the connection.
                let pipes = Usage.open.filter { !before.contains($0.key) && $0.value.hasPrefix("pipe:") }
                #expect(!pipes.isEmpty)
                for number in pollers + pipes.keys { close(number) }
                for number in 0..<20 {
                    let back: Int = try await root.echo(number)
                    #expect(back == number)
                }
                _ = await lost.0.ended
                _ = await lost.1.ended
            }
        }
    #endif

    @Test("When methods block every thread of the loop, each connection gets an event")
    func threadsExhausted() async {
        // It blocks the loop of the whole process for a while.
        await #expect(processExitsWith: .success) {
            let exhausted = Signal()
            var configuration = Connection.Configuration.patient
            configuration.onEvent = { if $0.code == .threadsExhausted, $0.threadCount == 64 { exhausted.send() } }
            let pair = try await Pair(client: configuration, server: configuration)
            let blocked = (0..<64).map { _ in Directory() }
            pair.server.vend(Dictionary(uniqueKeysWithValues: blocked.enumerated().map { ("\($0)", $1) }))
            var proxies: [DistantObject] = []
            for index in blocked.indices { proxies.append(try await pair.client.root(named: "\(index)")) }
            for proxy in proxies { try await proxy.block.oneWay() }
            await exhausted.wait(for: 2)
            for directory in blocked { directory.gate.signal() }
            let back: Int = try await pair.client.root.echo(1)
            #expect(back == 1)
            await pair.close()
        }
    }

    @Test("The end is reported once, as the last event")
    func events() async throws {
        let ended = Signal()
        var client = Connection.Configuration.patient
        client.onEvent = { event in
            if event.code == .ended { ended.send() }
        }
        let pair = try await Pair(client: client)
        await pair.close()
        pair.client.invalidate()
        #expect(ended.count == 1)
    }
}

/// Runs a closure in its deinit.
private final class Heir: Vendable {
    private let gone: Signal
    private let last: @Sendable () -> Void

    init(_ gone: Signal, last: @escaping @Sendable () -> Void) {
        self.gone = gone
        self.last = last
    }

    deinit {
        last()
        gone.send()
    }

    static var messages: MessageTable<Heir> {
        Message("nothing") { (_: Heir) in { () -> Void in } }
    }
}
