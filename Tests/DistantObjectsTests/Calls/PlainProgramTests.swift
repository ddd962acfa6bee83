import DistantObjects
import TestSupport
import Testing

@Suite("Programs without tasks, and withConnection", .bounded())
struct PlainProgramTests {
    @Test("A thread opens a connection, calls and closes it")
    func openInPlainProgram() async throws {
        let place = try TemporaryFolder()
        let directory = Directory()
        let listener = try Listener(at: .path(place.socket), configuration: .patient)
        let serving = Task { for await connection in listener { connection.vend(directory) } }
        let back = try await onThread {
            let connection = try Connection.blockingOpen(
                .path(place.socket), timeout: TestTimeout.wait, configuration: .patient)
            let back: Int = try connection.blockingRoot().echo.blocking(7)
            try connection.blockingClose(timeout: TestTimeout.wait)
            #expect(connection.isEnded)
            return back
        }
        #expect(back == 7)
        await expectCode(.transport) {
            _ = try await onThread { try Connection.blockingOpen(.path(place.socket + "-none")) }
        }
        listener.close()
        _ = await serving.result
    }

    @Test("A thread launches a helper that is in the same folder as its program")
    func launch() async throws {
        let end = try await onThread {
            let helper = try Connection.blockingLaunch(
                "FooBarServer", environment: TestTimeout.environment, configuration: .patient)
            try helper.blockingClose(timeout: TestTimeout.wait)
            return helper.child
        }
        let status = await end?.waitForExit()
        if case .exited? = status {} else { Issue.record("\(String(describing: status))") }
        await expectCode(.transport) { _ = try await Connection.launch("no-such-helper") }
    }

    @Test("In a task the blocking functions throw and do nothing")
    func inTaskInPlainProgram() async throws {
        let pair = try await Pair()
        #expect(throws: ConnectionError.self) { try Connection.blockingOpen(.path("/nowhere")) }
        #expect(throws: ConnectionError.self) { try pair.client.blockingClose() }
        #expect(!pair.client.isEnded)
        await pair.close()
    }

    @Test("withConnection closes the connection when its body returns, throws or is cancelled")
    func scope() async throws {
        for way in 0..<3 {
            let pair = try await Pair()
            let task = Task {
                try await withConnection(pair.client, closeTimeout: TestTimeout.wait) { connection in
                    let directory = try await connection.root
                    switch way {
                    case 0: break
                    case 1: throw NotFound(name: "way out")
                    default: let _: Int = try await directory.wait()
                    }
                    return try await directory.echo(7) as Int
                }
            }
            if way == 2 {
                await pair.directory.started.wait()
                task.cancel()
            }
            switch await task.result {
            case .success(let value): #expect(way == 0 && value == 7)
            case .failure(let error): #expect(way == 1 ? error is NotFound : way == 2 && error is CancellationError)
            }
            #expect(pair.client.isEnded && pair.client.statistics.isAtRest)
            guard case .closedByPeer = await pair.server.ended else {
                Issue.record("the connection was not closed in order")
                continue
            }
        }
    }
}
