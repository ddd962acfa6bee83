import DistantObjects
import TestSupport
import Testing

#if canImport(FoundationEssentials)
    import FoundationEssentials
    import Glibc
#else
    import Foundation
#endif

@Suite("The end of a launched process", .bounded())
struct ChildEndTests {
    private static func launch(
        _ role: String?, over transport: ChildProcess.Transport = .socketpair, exitTimeout: Duration?
    ) async throws -> Connection {
        var configuration = Connection.Configuration.patient
        configuration.exitTimeout = exitTimeout
        return try await Connection.launch(
            try builtProgram("killed-peer"), arguments: role.map { [$0] } ?? [], over: transport,
            configuration: configuration)
    }

    @Test(
        "After an orderly close it has ended, and its exit status is known",
        arguments: [ChildProcess.Transport.socketpair, .pipes])
    func exitsInChildEnd(transport: ChildProcess.Transport) async throws {
        let connection = try await Self.launch(nil, over: transport, exitTimeout: TestTimeout.wait)
        await connection.close(timeout: TestTimeout.wait)
        #expect(connection.child?.exitStatus == .exited(0))
    }

    @Test("If it does not exit by itself, it is asked to end, and killed if it does not")
    func endsInChildEnd() async throws {
        let asked = try await Self.launch("stay", exitTimeout: .seconds(1))
        await asked.close(timeout: TestTimeout.wait)
        #expect(asked.child?.exitStatus == .signalled(SIGTERM))
        let killed = try await Self.launch("stubborn", exitTimeout: .milliseconds(20))
        await killed.close(timeout: TestTimeout.wait)
        #expect(killed.child?.exitStatus == .signalled(SIGKILL))
    }

    @Test("A process that blocks in a method is asked to end as soon as the connection is cut")
    func blocksInChildEnd() async throws {
        let connection = try await Self.launch("stay", exitTimeout: TestTimeout.wait)
        let root = try await connection.root
        let observer = Observer()
        let call = CountedCall { try await root.block(observer) }
        await observer.noted.wait()
        await connection.close(timeout: .milliseconds(20))
        await call.expect(.outcomeUnknown)
        #expect(connection.child?.exitStatus == .signalled(SIGTERM))
    }

    @Test("A call that was cancelled does not hold the close, even if its method blocks", arguments: [true, false])
    func cancelledInChildEnd(beforeClose: Bool) async throws {
        let connection = try await Self.launch(nil, exitTimeout: TestTimeout.wait)
        let root = try await connection.root
        let observer = Observer()
        let call = Task { try await root.block(observer) }
        await observer.noted.wait()
        if beforeClose { call.cancel() }
        let closing = Task { await connection.close(timeout: TestTimeout.wait) }
        if !beforeClose {
            await connection.awaitClosing()
            call.cancel()
        }
        _ = await call.result
        _ = await closing.value
        #expect(connection.child?.exitStatus == .exited(0))
    }

    @Test("It is left alone if the configuration says so")
    func stays() async throws {
        let connection = try await Self.launch("stay", exitTimeout: nil)
        await connection.close(timeout: TestTimeout.wait)
        #expect(connection.child?.exitStatus == nil)
        connection.child?.kill()
        #expect(await connection.child?.waitForExit() == .signalled(SIGKILL))
    }
}
