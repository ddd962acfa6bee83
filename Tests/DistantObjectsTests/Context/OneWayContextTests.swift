import DistantObjects
import DistantTesting
import Synchronization
import TestSupport
import Testing

/// The test controls the clock.
@Suite("How long a one-way message that is sent while a call is served waits for room", .bounded())
struct OneWayContextTests {
    private final class Sleeper: Vendable {
        static var messages: MessageTable<Sleeper> { Message("sleep", Sleeper.sleep) }

        let started = Mutex(0)
        let wake = Signal()

        func sleep() async {
            started.withLock { $0 += 1 }
            await wake.wait()
        }
    }

    private final class Sender: Vendable {
        static var messages: MessageTable<Sender> { Message("fill", Sender.fill) }

        private let loop: TestLoop
        let errors = Mutex<[ConnectionError.Code]>([])

        init(_ loop: TestLoop) { self.loop = loop }

        /// Sends messages in a task that the end of the call does not cancel, until one has no room in time.
        func fill(_ sleeper: DistantObject, _ milliseconds: Int?) {
            loop.task {
                do {
                    while true {
                        try await sleeper.sleep.oneWay(timeout: milliseconds.map { .milliseconds($0) })
                    }
                } catch {
                    self.errors.withLock { $0.append((error as? ConnectionError)?.code ?? .outcomeUnknown) }
                }
            }
        }
    }

    /// Two connections on a loop that the test runs step by step; the first allows three one-way messages at a time.
    private struct Ends {
        let loop = TestLoop()
        let client: Connection
        let server: Connection
        let sender: Sender
        let sleeper = Sleeper()

        init() throws {
            var configuration = Connection.Configuration()
            configuration.limits.runningCalls = 3
            configuration.handshakeTimeout = .seconds(60)
            let pair = try ConnectionPair(on: loop, first: configuration, second: configuration)
            (client, server) = (pair.first, pair.second)
            sender = Sender(loop)
            server.vend(sender)
        }

        /// Has the server send messages while it serves a call.
        func fill(callTimeout: Duration?, timeout milliseconds: Int? = nil) {
            loop.task { [client, sleeper] in
                try await client.root.fill(sleeper, milliseconds, timeout: callTimeout)
            }
            loop.runUntilIdle()
        }

        var errors: [ConnectionError.Code] { sender.errors.withLock { $0 } }

        func end() {
            sleeper.wake.send()
            for connection in [client, server] { connection.invalidate() }
            loop.runUntilIdle()
        }
    }

    @Test("It waits until the deadline of the call, and is not sent then")
    func boundedInOneWayContext() throws {
        let ends = try Ends()
        ends.fill(callTimeout: .milliseconds(50))
        #expect(ends.sleeper.started.withLock { $0 } == 3 && ends.server.statistics.pending == 1)
        ends.loop.advance(by: .milliseconds(49))
        #expect(ends.server.statistics.pending == 1 && ends.errors == [])
        ends.loop.advance(by: .milliseconds(1))
        ends.loop.runUntilIdle()
        #expect(ends.server.statistics.pending == 0 && ends.errors == [.deadlineExceeded])
        #expect(ends.sleeper.started.withLock { $0 } == 3)
        ends.end()
    }

    @Test("Its own deadline counts if it is earlier, and the call's if that is")
    func earlier() throws {
        for (own, call, end) in [(20, 50, 20), (80, 50, 50)] {
            let ends = try Ends()
            ends.fill(callTimeout: .milliseconds(call), timeout: own)
            ends.loop.advance(by: .milliseconds(end - 1))
            #expect(ends.server.statistics.pending == 1 && ends.errors == [])
            ends.loop.advance(by: .milliseconds(1))
            ends.loop.runUntilIdle()
            #expect(ends.errors == [.deadlineExceeded])
            ends.end()
        }
    }

    @Test("Without a deadline it waits on")
    func unbounded() throws {
        let ends = try Ends()
        ends.fill(callTimeout: nil)
        ends.loop.advance(by: .seconds(20))
        #expect(ends.server.statistics.pending == 1 && ends.errors == [])
        ends.end()
    }
}
