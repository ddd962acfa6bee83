import DistantObjects
import Testing

/// Two connected ends in this process; the second one vends a `Directory`.
///
/// Over a socketpair they go over to shared memory at once, in the midst of whatever a test does first.
struct Pair {
    let client: Connection
    let server: Connection
    let directory: Directory

    /// - Parameter over: How the bytes go.
    init(
        client: Connection.Configuration = .patient, server: Connection.Configuration = .patient,
        over transport: Connection.PairTransport = .socketpair
    ) async throws {
        directory = Directory()
        var client = client
        client.name = "client"
        var server = server
        server.name = "server"
        client.busy = .always
        (self.client, self.server) = try await Connection.pair(over: transport, first: client, second: server)
        self.server.vend(directory)
    }

    /// Two ends that were joined elsewhere.
    init(_ client: Connection, _ server: Connection) {
        directory = Directory()
        self.client = client
        self.server = server
        server.vend(directory)
    }

    /// Waits until both ends have gone over to shared memory: no frame of that is counted among others from then on.
    func goOver() async throws {
        while !client.isInSharedMemory || !server.isInSharedMemory { try await client.ping() }
    }

    /// Calls a method that waits, with a deadline; returns when it was stopped.
    func outwait(_ root: DistantObject) async {
        var deadline = Duration.milliseconds(10)
        // On a busy machine it may pass before the call has started, which then is refused.
        repeat {
            deadline *= 2
            await expectCode(.deadlineExceeded) {
                let _: Int = try await root.message("wait").call(deadline: deadline)
            }
        } while directory.started.count == 0
        await directory.stopped.wait()
    }

    /// Closes both in order and checks that nothing is left.
    func close() async {
        await client.close()
        _ = await server.ended
        #expect(client.statistics.isAtRest)
        #expect(server.statistics.isAtRest)
    }

    /// Waits until both ends hold no reference and no call: releases are on their way for a moment after the last use.
    func rest() async throws {
        let deadline = ContinuousClock.now + Patience.wait
        while ContinuousClock.now < deadline {
            if client.statistics.isAtRest, server.statistics.isAtRest { return }
            try await client.ping()
            try await server.ping()
        }
        Issue.record("something is left: \(client.statistics) \(server.statistics)")
    }
}

extension BusyTraffic {
    /// From the first message on.
    static var always: Self {
        var busy = Self()
        busy.messages = 1
        busy.nanoseconds = .max
        return busy
    }
}

extension Connection {
    /// Returns once the connection is closing: it refuses calls before it looks whether they are cancelled.
    func refusesCalls() async {
        while true {
            let call = Task {
                withUnsafeCurrentTask { $0?.cancel() }
                _ = try await root
            }
            if case .failure(let error) = await call.result, error is ConnectionError { return }
            await Task.yield()
        }
    }
}

extension Connection {
    /// As `close(within:)`, with a limit that no test needs: the library's own would cut a connection off on a busy machine.
    @discardableResult
    func close() async -> OneWayLosses { await close(within: Patience.wait) }
}
