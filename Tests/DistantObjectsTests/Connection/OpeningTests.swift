import Dispatch
import TestSupport
import Testing

@testable import DistantObjects

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

@Suite("Opening a connection that comes to nothing", .bounded())
struct OpeningTests {
    private static func cancelled<T: Sendable>(_ body: @escaping @Sendable () async throws -> T) async {
        // In a task of its own, because a cancelled test counts as skipped.
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await body()
        }
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    @Test("In a cancelled task each way to open a connection throws CancellationError")
    func cancelledBeforeInOpening() async throws {
        let place = try TemporaryFolder()
        let listener = try Listener(at: .path(place.socket), configuration: .patient)
        await Self.cancelled { try await Connection.open(.path(place.socket), configuration: .patient) }
        await Self.cancelled { try await Connection.pair(first: .patient, second: .patient) }
        await Self.cancelled {
            try await Connection.launch("/bin/sh", arguments: ["-c", "exec sleep 1000"], configuration: .patient)
        }
        await Self.cancelled {
            let ends = try socketPair()
            defer { close(ends.1) }
            return try await Connection.adopt(socket: ends.0, isInitiator: true, configuration: .patient)
        }
        listener.close()
    }

    @Test("A task that was cancelled gets no connection, even if both sides have accepted each other by then")
    func cancelledAfterHandshake() async throws {
        let (one, other) = try ChannelEndpoint.socketPair()
        let initiator = try Connection.make(one, .patient, isInitiator: true)
        let acceptor = try Connection.make(other, .patient, isInitiator: false)
        acceptor.begin()
        initiator.begin()
        try await initiator.handshake()
        try await acceptor.handshake()
        await Self.cancelled { try await initiator.handshake() }
        let end = await initiator.ended
        #expect("\(end)" == "\(ConnectionEnd.closedHere)")
        await acceptor.close()
    }

    @Test("Opening ends with CancellationError when its task is cancelled while the peer is silent")
    func cancelledMeanwhile() async throws {
        let ends = try socketPair()
        let task = Task { try await Connection.adopt(socket: ends.0, isInitiator: true, configuration: .patient) }
        let peer = RawPeer(descriptor: ends.1)
        #expect(try await onThread { peer.read()?.kind } == 1)
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(try await onThread { peer.read() } == nil)
        peer.close()
    }

    @Test("A program that closes its pipes and then exits is reported with its status")
    func exitsInOpening() async throws {
        let deadline = ContinuousClock.now + TestTimeout.wait
        var error: ConnectionError?
        // The library waits half a second for the end of the program. On a busy machine that takes longer, and no status is told.
        repeat {
            error = await #expect(throws: ConnectionError.self) {
                try await Connection.launch(
                    "/bin/sh", arguments: ["-c", "exec <&- >&-; sleep 0.1; exit 3"], over: .pipes,
                    configuration: .patient)
            }
        } while error?.message.contains("the program") == false && ContinuousClock.now < deadline
        #expect(error?.code == .closed, "\(error as Any)")
        #expect(error?.message.contains("the program ended with status 3") == true, "\(error as Any)")
    }

    @Test("A wait for the end returns nothing after its limit or when its task is cancelled, and else the reason")
    func endedInOpening() async throws {
        let (client, server) = try await Connection.pair(first: .patient, second: .patient)
        #expect(await client.ended(timeout: .milliseconds(1)) == nil)
        let waiting = Task { await client.ended(timeout: TestTimeout.wait) }
        waiting.cancel()
        #expect(await waiting.value == nil)
        async let end = client.ended(timeout: TestTimeout.wait)
        await server.close()
        for end in [await end, await client.ended(timeout: TestTimeout.wait)] {
            guard case .closedByPeer = end else {
                Issue.record("the connection ended as \(String(describing: end))")
                continue
            }
        }
    }

    @Test("The accept rule decides about a peer that has closed in order meanwhile")
    func lateRule() async throws {
        let folder = try TemporaryFolder()
        let listener = try Listener(at: .path(folder.socket), configuration: .patient)
        for isAccepted in [true, false] {
            let isClosed = DispatchSemaphore(value: 0)
            let serving = Task {
                var iterator = listener.makeAsyncIterator()
                await iterator.next()?.close(timeout: .milliseconds(100))
                isClosed.signal()
            }
            var configuration = Connection.Configuration.patient
            configuration.accept = Connection.AcceptRule { _ in
                isClosed.wait()
                return isAccepted ? nil : "not this one"
            }
            do {
                let connection = try await Connection.open(.path(folder.socket), configuration: configuration)
                #expect(isAccepted)
                guard case .closedByPeer = await connection.ended else {
                    Issue.record("the connection has ended otherwise")
                    return
                }
            } catch let error as ConnectionError {
                #expect(!isAccepted && error.code == .peerRefused, "\(error)")
                #expect(error.message.contains("not this one"), "\(error)")
            }
            await serving.value
        }
        listener.close()
    }

    @Test("A peer that refuses in place of a Hello, and then keeps the stream open, is believed at once")
    func refusedByStuckPeer() async throws {
        let ends = try socketPair()
        let peer = RawPeer(descriptor: ends.1)
        // The limit of the handshake is longer than the test may take.
        let task = Task { try await Connection.adopt(socket: ends.0, isInitiator: true, configuration: .patient) }
        peer.send(16, RawPeer.number(0) + [3] + RawPeer.text("too many connections"))
        let error = await #expect(throws: ConnectionError.self) { _ = try await task.value }
        #expect(
            error?.code == .peerRefused && error?.message.contains("too many connections") == true, "\(error as Any)")
        peer.close()
    }

    @Test("A connection that ends while its opening is reported was opened all the same")
    func endsDuringEvent() async throws {
        let folder = try TemporaryFolder()
        let listener = try Listener(at: .path(folder.socket), configuration: .patient)
        let serving = Task {
            var iterator = listener.makeAsyncIterator()
            await iterator.next()?.close()
        }
        var configuration = Connection.Configuration.patient
        // The event blocks its thread, so another one notices the end.
        configuration.onEvent = { event in
            guard event.code == .opened, let connection = Connection.current else { return }
            let limit = ContinuousClock.now + TestTimeout.wait
            while connection.state.withLock({ $0.session.life.verdict == nil }), ContinuousClock.now < limit {
                usleep(1_000)
            }
        }
        let connection = try await Connection.open(.path(folder.socket), configuration: configuration)
        guard case .closedByPeer = await connection.ended else {
            Issue.record("the connection has ended otherwise")
            return
        }
        await serving.value
        listener.close()
    }

    @Test("A connection that its peer closes right after the handshake is opened, and then ends in order")
    func closedAtOnce() async throws {
        let folder = try TemporaryFolder()
        let listener = try Listener(at: .path(folder.socket), configuration: .patient)
        let serving = Task {
            await withDiscardingTaskGroup { group in
                for await connection in listener { group.addTask { await connection.close() } }
            }
        }
        for _ in 0..<300 {
            let connection = try await Connection.open(.path(folder.socket), configuration: .patient)
            guard case .closedByPeer = await connection.ended else {
                Issue.record("the connection has ended otherwise")
                break
            }
        }
        listener.close()
        await serving.value
    }

    @Test("A helper that exits right after the handshake has been opened, and its end is that of the connection")
    func exitsAtOnce() async throws {
        for status in 1...50 as ClosedRange<Int32> {
            let helper = try await Connection.launch(
                try builtProgram("killed-peer"), arguments: ["unvended", "\(status)"],
                environment: TestTimeout.environment, configuration: .patient)
            switch await helper.ended {
            case .lost(.exited(status)?): break
            // The end waits a second for the status. On a busy machine that comes later.
            case .lost(nil) where await helper.child?.waitForExit() == .exited(status): break
            case let end:
                Issue.record("the connection has ended otherwise: \(end)")
                return
            }
        }
    }

    @Test("A connection is opened although the accept rule takes longer than the helper lives")
    func lateRuleAboutHelper() async throws {
        var configuration = Connection.Configuration.patient
        configuration.accept = Connection.AcceptRule { peer in
            // The process is reaped by another thread of this one.
            while let peer, kill(peer.pid, 0) == 0 { usleep(1_000) }
            return nil
        }
        let helper = try await Connection.launch(
            try builtProgram("killed-peer"), arguments: ["unvended", "3"], environment: TestTimeout.environment,
            configuration: configuration)
        guard case .lost(.exited(3)?) = await helper.ended else {
            Issue.record("the connection has ended otherwise")
            return
        }
    }
}
