import DistantObjects
import TestSupport
import Testing

/// Two connected ends in this process; the second one vends a `Directory`.
///
/// Over a socketpair they switch to shared memory at once, during the first actions of a test.
struct Pair {
    let client: Connection
    let server: Connection
    let directory: Directory

    /// - Parameter over: The transport.
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

    /// Two ends that are already connected.
    init(_ client: Connection, _ server: Connection) {
        directory = Directory()
        self.client = client
        self.server = server
        server.vend(directory)
    }

    /// Waits until both ends have switched to shared memory, so that no more frames of the switch are counted.
    func awaitSharedMemory() async throws {
        while !client.isInSharedMemory || !server.isInSharedMemory { try await client.ping() }
    }

    /// Calls a method that waits, with a deadline, and returns when it was cancelled.
    func callUntilDeadline(_ root: DistantObject) async {
        var deadline = Duration.milliseconds(10)
        // On a busy machine the deadline may pass before the call has started. Then it is refused.
        repeat {
            deadline *= 2
            await expectCode(.deadlineExceeded) {
                let _: Int = try await root.message("wait")(timeout: deadline)
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

    /// Waits until both ends have no references and no calls.
    ///
    /// Releases arrive shortly after the last use.
    func rest() async throws {
        let deadline = ContinuousClock.now + TestTimeout.wait
        while ContinuousClock.now < deadline {
            if client.statistics.isAtRest, server.statistics.isAtRest { return }
            try await client.ping()
            try await server.ping()
        }
        Issue.record("something is left: \(client.statistics) \(server.statistics)")
    }
}

extension BusyTraffic {
    /// Traffic that is reached with the first message.
    static var always: Self {
        var busy = Self()
        busy.frames = 1
        busy.nanoseconds = .max
        return busy
    }
}

extension Connection {
    /// Returns once the connection is closing.
    ///
    /// It refuses calls then, even if they are cancelled.
    func awaitClosing() async {
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
    /// Closes with a long limit, because the library's default could cut the connection on a busy machine.
    @discardableResult
    func close() async -> OneWayLosses { await close(timeout: TestTimeout.wait) }
}

extension Helper {
    /// Stops with a long limit, for the same reason.
    func stop() async { await stop(timeout: TestTimeout.wait) }
}
