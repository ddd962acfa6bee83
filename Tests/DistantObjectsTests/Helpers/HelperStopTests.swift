import DistantObjects
import PortTransport
import TestSupport
import Testing

#if canImport(FoundationEssentials)
    import FoundationEssentials
    import Glibc
#else
    import Foundation
#endif

@Suite("Helpers that are stopped, or end in unusual ways", .bounded())
struct HelperStopTests {
    private func helper(
        _ arguments: String..., exitTimeout: Duration = .milliseconds(100)
    ) throws -> Helper<CrasherInterface> {
        var options = HelperOptions()
        options.arguments = arguments
        options.configuration = .patient
        options.configuration.exitTimeout = exitTimeout
        options.standardError = .kept
        return try Helper(
            CrasherInterface.self, builtProgram("killed-peer"), restart: .onFailure(limit: 4, backoff: .zero ... .zero),
            options: options)
    }

    @Test(
        "A helper that is being started is stopped, even if its program never connects, or vends nothing",
        arguments: ["mute", "unvending"])
    func stoppedWhileStarting(way: String) async throws {
        let folder = try TemporaryFolder()
        let helper = try helper(way, folder.path("runs"))
        let call = Task { try await helper.remote.pid() }
        await eventually("the program runs") { FileManager.default.fileExists(atPath: folder.path("runs")) }
        await helper.stop()
        await expectCode(.closed) { _ = try await call.value }
        helper.start()
        await expectCode(.closed) { _ = try await helper.remote.pid() }
    }

    @Test("It may be stopped by several tasks")
    func stoppedBySeveral() async throws {
        let helper = try helper("crash", exitTimeout: TestTimeout.wait)
        _ = try await helper.remote.pid()
        let child = try #require(helper.connection?.child)
        async let one: Void = helper.stop()
        async let two: Void = helper.stop()
        _ = await (one, two)
        await helper.stop()
        #expect(child.exitStatus == .exited(0))
    }

    @Test("What a program has written that exits before it is connected comes with its end")
    func earlyLines() async throws {
        let helper = try helper("complain", "3")
        let log = EventLog(helper.events)
        await expectCode(.closed) { _ = try await helper.remote.pid() }
        await eventually("the ends are reported") { log.ends.count == 3 }
        for end in log.ends {
            #expect(end.status == .exited(3))
            #expect(end.lastErrorLines == "something is wrong\n")
        }
        await helper.stop()
    }

    @Test("A process that goes on without its connection is ended, and replaced")
    func processWithoutConnection() async throws {
        let helper = try helper("crash", "blocked", exitTimeout: TestTimeout.wait)
        let first = try await helper.remote.pid()
        let child = try #require(helper.connection?.child)
        await expectCode(.outcomeUnknown) { try await helper.remote.cut() }
        #expect(await child.waitForExit() == .signalled(SIGTERM))
        #expect(try await helper.remote.pid() != first)
        helper.connection?.child?.kill()
        await helper.stop()
    }
}
