import DistantObjects
import PortTransport
import Synchronization
import TestSupport
import Testing

/// The test controls the clock.
@Suite("Dropped connections", .bounded())
struct DroppedTests {
    /// Two ends on a loop that the test runs step by step.
    private struct Ends {
        let loop = ManualLoop()
        var client: Connection?
        var server: Connection?
        let clientDropped = Signal()
        let serverDropped = Signal()

        init(keepalive: Duration? = nil) throws {
            let (first, second) = MemoryLink.pair(capacity: 1 << 16)
            client = try Self.connection(first, clientDropped, loop, isInitiator: true, keepalive)
            server = try Self.connection(second, serverDropped, loop, isInitiator: false, keepalive)
            loop.runUntilIdle()
        }

        private static func connection(
            _ endpoint: ChannelEndpoint, _ dropped: Signal, _ loop: ManualLoop, isInitiator: Bool,
            _ keepalive: Duration?
        ) throws -> Connection {
            var configuration = Connection.Configuration()
            configuration.loop = loop
            configuration.keepalive = keepalive
            configuration.onEvent = { event in
                guard event.code == .dropped else { return }
                dropped.send()
                Connection.current?.invalidate()
            }
            let connection = try Connection.make(endpoint, configuration, isInitiator: isInitiator)
            connection.begin()
            return connection
        }

        /// Longer than any pause between two checks.
        func pass() { loop.advance(by: .seconds(130)) }
    }

    @Test(
        "A connection without references is reported as dropped, and the handler can close it",
        arguments: [nil, Duration.seconds(10)])
    func dropped(keepalive: Duration?) throws {
        var ends = try Ends(keepalive: keepalive)
        let server = ends.server
        ends.pass()
        #expect(ends.clientDropped.count == 0)
        weak let client = ends.client
        ends.client = nil
        ends.pass()
        #expect(ends.clientDropped.count == 1)
        #expect(client == nil)
        #expect(ends.serverDropped.count == 0)
        #expect(server?.isEnded == true)
    }

    @Test("A proxy, a root, and an object that the peer refers to each keep a connection in use")
    func inUse() throws {
        var ends = try Ends()
        let directory = Directory()
        ends.server?.vend(directory)
        ends.server = nil
        let proxy = Mutex<DistantObject?>(nil)
        do {
            let client = try #require(ends.client)
            Task(executorPreference: ends.loop) {
                let root = try await client.root
                try await root.watch(Observer())
                proxy.withLock { $0 = root }
            }
        }
        ends.pass()
        ends.client = nil
        ends.pass()
        #expect(proxy.withLock { $0 != nil })
        proxy.withLock { $0 = nil }
        ends.pass()
        #expect(directory.observer.withLock { $0 != nil })
        #expect(ends.clientDropped.count == 0)
        directory.observer.withLock { $0 = nil }
        ends.pass()
        #expect(ends.clientDropped.count == 1)
        #expect(ends.serverDropped.count == 0)
    }
}
