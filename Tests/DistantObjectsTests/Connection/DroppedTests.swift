import DistantObjects
import DistantTesting
import Synchronization
import TestSupport
import Testing

/// The test controls the clock.
@Suite("Dropped connections", .bounded())
struct DroppedTests {
    /// Two ends on a loop that the test runs step by step.
    private struct Ends {
        let loop = TestLoop()
        var client: Connection?
        var server: Connection?
        let clientDropped = Signal()
        let serverDropped = Signal()

        init(keepalive: Duration? = nil) throws {
            let pair = try ConnectionPair(
                on: loop, first: Self.configuration(clientDropped, keepalive),
                second: Self.configuration(serverDropped, keepalive))
            (client, server) = (pair.first, pair.second)
        }

        private static func configuration(_ dropped: Signal, _ keepalive: Duration?) -> Connection.Configuration {
            var configuration = Connection.Configuration()
            configuration.keepalive = keepalive
            configuration.onEvent = { event in
                guard event.code == .dropped else { return }
                dropped.send()
                Connection.current?.invalidate()
            }
            return configuration
        }

        /// Longer than any pause between two checks.
        func pass() { loop.advance(by: .seconds(130)) }
    }

    @Test(
        "A connection without references is reported as dropped, and the handler can close it",
        arguments: [nil, Duration.seconds(10)])
    func droppedInDropped(keepalive: Duration?) throws {
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
            ends.loop.task {
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
