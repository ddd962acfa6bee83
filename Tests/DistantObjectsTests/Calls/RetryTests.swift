import DistantObjects
import Synchronization
import TestSupport
import Testing

@Suite("Whether it is safe to retry a call", .bounded())
struct RetryTests {
    @Test("Each error says whether its call may have run, and names the message and the argument")
    func retries() async throws {
        var server = Connection.Configuration.patient
        server.limits.runningCalls = 1
        let pair = try await Pair(server: server)
        let directory = try await pair.client.root
        await expect(.noSuchMessage, isSafe: true) { try await directory.message("nothing")() }
        await expect(.wrongArgument, isSafe: true, names: "Directory.bounce", "argument 3") {
            let _: Int = try await directory.bounce(directory, directory, "x")
        }
        await expect(.wrongArgument, isSafe: true, names: "Directory.echo", "argument 1") {
            let _: Int = try await directory.echo("x")
        }
        await expect(.notEncodable, isSafe: true, names: "argument 2") {
            let _: Int = try await directory.take(1, Unwritable())
        }
        await expect(.notEncodable, isSafe: false) { let _: Failing = try await directory.failing(3) }
        await expect(.wrongResult, isSafe: false) { let _: String = try await directory.echo(1) }
        var deadline = Duration.milliseconds(1)
        var hasStarted = false
        // On a busy machine a deadline may pass before the call has started. Then it is safe to retry.
        while !hasStarted {
            let error = await #expect(throws: ConnectionError.self) {
                let _: Int = try await directory.message("wait")(timeout: deadline)
            }
            let passed = try #require(error)
            #expect(passed.code == .deadlineExceeded, "\(passed)")
            hasStarted = !passed.isSafeToRetry
            deadline *= 2
        }
        // A call whose deadline passed may start only now.
        try await pair.client.ping()
        await eventually("the method has stopped") { pair.server.statistics.answers == 0 }
        let before = pair.directory.started.count
        let call = Task { let _: Int = try await directory.wait() }
        await pair.directory.started.wait(for: before + 1)
        await expect(.overloaded, isSafe: true) { let _: Int = try await directory.echo(1) }
        pair.server.invalidate()
        await expect(.outcomeUnknown, isSafe: false, names: "wait over client") { try await call.value }
        await expect(.closed, isSafe: true) { let _: Int = try await directory.echo(1) }
        _ = await pair.client.ended
    }

    private func expect(
        _ code: ConnectionError.Code, isSafe: Bool, names parts: String..., location: SourceLocation = #_sourceLocation,
        _ body: () async throws -> Void
    ) async {
        let error = await #expect(throws: ConnectionError.self, sourceLocation: location) { try await body() }
        guard let error else { return }
        #expect(error.code == code && error.isSafeToRetry == isSafe, "\(error)", sourceLocation: location)
        for part in parts { #expect(error.description.contains(part), "\(error)", sourceLocation: location) }
    }

    @Test("isEnded is true before any call fails because of the end", arguments: 0..<4)
    func isEnded(way: Int) async throws {
        for _ in 0..<20 {
            let pair = try await Pair(over: way % 2 == 0 ? .socketpair : .pipes)
            let directory = try await pair.client.root
            let hasBegun = Signal()
            let callers = (0..<4).map { number in
                Task {
                    while true {
                        do {
                            let _: Int =
                                number == 0
                                ? try await onThread { try directory.echo.blocking(1) } : try await directory.echo(1)
                            hasBegun.send()
                        } catch {
                            return pair.client.isEnded
                        }
                    }
                }
            }
            await hasBegun.wait(for: 8)
            #expect(!pair.client.isEnded)
            switch way {
            case 0: pair.server.invalidate()
            case 1: pair.client.invalidate()
            case 2: await pair.server.close()
            default: await pair.client.close()
            }
            for caller in callers { #expect(await caller.value) }
            _ = await pair.client.ended
            #expect(pair.client.isEnded)
        }
    }

    @Test("isEnded is true when the peer refuses a call because it waits for others before it closes")
    func refusedBeforeTheEnd() async throws {
        let pair = try await Pair()
        let directory = try await pair.client.root
        let running = Task { let _: Int = try await directory.wait() }
        await pair.directory.started.wait()
        let closing = Task { await pair.server.close() }
        await eventually("the server is closing") { pair.server.isEnded }
        #expect(!pair.client.isEnded)
        await expect(.closed, isSafe: true, names: "not run") { let _: Int = try await directory.echo(1) }
        #expect(pair.client.isEnded)
        running.cancel()
        _ = await running.result
        _ = await closing.value
    }

    @Test("The end of a connection has the exit status of a helper that died")
    func helperInRetry() async throws {
        for transport in [ChildProcess.Transport.socketpair, .pipes] {
            var end: ConnectionEnd
            // The system may report the exit later than the library waits for it: then another helper is tried.
            repeat {
                let helper = try await Connection.launch(
                    try builtProgram("FooBarServer"), environment: TestTimeout.environment, over: transport,
                    configuration: .patient)
                helper.child?.kill()
                end = await helper.ended
            } while RawPeerConnection.isLostWithoutStatus(end)
            guard case .lost(.signalled(9)) = end else {
                Issue.record("\(end)")
                continue
            }
            #expect("\(end)".contains("signal 9"))
        }
    }
}

private struct Unwritable: Codable {
    init() {}
    init(from decoder: any Decoder) throws {}
    func encode(to encoder: any Encoder) throws { throw NotFound(name: "content") }
}
