import CTerminal
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

    @Test("A helper that nobody has any more is not started to the end", arguments: ["mute", "unvending"])
    func droppedWhileStarting(way: String) async throws {
        let folder = try TemporaryFolder()
        func pid() -> Int32? {
            let text = FileManager.default.contents(atPath: folder.path("runs")).map {
                String(decoding: $0, as: UTF8.self)
            }
            return text?.hasSuffix(" ") == true ? Int32(text?.dropLast() ?? "") : nil
        }
        var helper: Helper<CrasherInterface>? = try helper(way, folder.path("runs"))
        helper?.start()
        await eventually("the program runs") { pid() != nil }
        helper = nil
        let process = try #require(pid())
        await eventually("the program has ended") { kill(process, 0) != 0 }
    }

    #if canImport(Glibc)
        @Test("A helper is stopped and replaced although nobody reads this process's standard error")
        func stuckErrors() async {
            await #expect(processExitsWith: .success) {
                var ends: [CInt] = [-1, -1]
                #expect(terminal_pipe(&ends) == 0)
                // The test itself writes to it at its end.
                let errors = dup(2)
                dup2(ends[1], 2)
                defer { dup2(errors, 2) }
                var options = HelperOptions()
                options.arguments = ["crash"]
                options.configuration = .patient
                options.configuration.exitTimeout = .seconds(1)
                options.standardError = .prefixed("helper:")
                let helper = Helper(CrasherInterface.self, try builtProgram("killed-peer"), options: options)
                let long = String(repeating: "x", count: 50 << 10)
                // More than two pipes hold, so the helper waits, too.
                let says = Task { for _ in 0..<4 { try await helper.remote.say(long) } }
                let log = EventLog(helper.events)
                await eventually("it runs") { helper.connection != nil }
                await eventually("the pipe is full") {
                    var event = pollfd(fd: 2, events: Int16(POLLOUT), revents: 0)
                    return poll(&event, 1, 0) == 0
                }
                helper.connection?.child?.kill()
                await eventually("the end is reported") { !log.ends.isEmpty }
                // The next process waits for the pipe in a method, which does not end by itself.
                await helper.stop(timeout: .seconds(5))
                _ = try? await says.value
            }
        }
    #endif

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
