import DistantObjects
import TestSupport
import Testing

#if canImport(FoundationEssentials)
    import FoundationEssentials
    import Glibc
#else
    import Foundation
#endif

// What is known of a helper that has ended: its output, and what it has left behind.
extension HelperProcessTests {
    @Test("Its standard output is kept apart from its standard error, if it is read on its own")
    func keptOutput() async throws {
        let helper = try helper {
            $0.standardError = .kept
            $0.standardOutput = .kept
        }
        let log = EventLog(helper.events)
        let pid = try await helper.remote.pid()
        let long = String(repeating: "y", count: 70 << 10)
        for text in ["one", long, "last"] { try await helper.remote.say(text) }
        await expectCode(.outcomeUnknown) { try await helper.remote.die(SIGKILL) }
        await eventually("the end is reported") { !log.ends.isEmpty }
        let end = try #require(log.ends.first)
        let all = { (stream: String) in "\(stream) one\n\(stream) \(long)\n\(stream) last\n".suffix(64 << 10) }
        #expect(end.lastOutputLines == all("out") && end.lastErrorLines == all("err"))
        #expect(end.pid == pid && end.leftProcesses.isEmpty)
        await helper.stop()
    }

    @Test("Its output alone may be kept, and over pipes it is refused, because it is the connection's")
    func keptOutputAlone() async throws {
        let helper = try helper { $0.standardOutput = .kept }
        let log = EventLog(helper.events)
        try await helper.remote.say("alone")
        await helper.stop()
        await eventually("the end is reported") { !log.ends.isEmpty }
        #expect(log.ends.map(\.lastOutputLines) == ["out alone\n"] && log.ends.map(\.lastErrorLines) == [""])

        let refused = try self.helper(restart: .never) {
            $0.transport = .pipes
            $0.standardOutput = .kept
        }
        await #expect(throws: ConnectionError.self) { _ = try await refused.remote.pid() }
        await refused.stop()
    }

    @Test("Its output goes to this process's output, or with a prefix to its standard error")
    func inheritedOutput() async throws {
        let result = await #expect(
            processExitsWith: .success, observing: [\.standardOutputContent, \.standardErrorContent]
        ) {
            do {
                for output in [HelperOptions.Output.inherited, .prefixed("[helper]")] {
                    let helper = try HelperProcessTests().helper { $0.standardOutput = output }
                    try await helper.remote.say(output == .inherited ? "plain" : "marked")
                    await helper.stop()
                }
            } catch { Issue.record("\(error)") }
        }
        let output = String(decoding: result?.standardOutputContent ?? [], as: UTF8.self)
        let errors = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(output.contains("out plain\n") && !output.contains("marked"))
        #expect(errors.contains("err plain\n") && errors.contains("[helper] out marked\n"))
        #expect(errors.contains("err marked\n") && !errors.contains("out plain"))
    }

    #if os(Linux)
        @Test("Processes that have left its group are named when it has ended", arguments: [SIGKILL, 0])
        func leftProcesses(signal: Int32) async throws {
            let helper = try helper()
            let log = EventLog(helper.events)
            // One of its group, which is ended with it.
            let sleeper = try await helper.remote.sleeper()
            let wanderers = [try await helper.remote.wanderer(), try await helper.remote.wanderer()]
            defer { for wanderer in wanderers { kill(wanderer, SIGKILL) } }
            await eventually("they have left the group and run") {
                wanderers.allSatisfy { pid in
                    getpgid(pid) == pid
                        && FileManager.default.contents(atPath: "/proc/\(pid)/comm") == Data("sleep\n".utf8)
                }
            }
            if signal == 0 {
                await helper.stop()
            } else {
                await expectCode(.outcomeUnknown) { try await helper.remote.die(signal) }
            }
            await eventually("the end is reported") { !log.ends.isEmpty }
            let end = try #require(log.ends.first)
            #expect(end.leftProcesses.map(\.pid) == wanderers.sorted())
            #expect(end.leftProcesses.map(\.program) == ["sleep", "sleep"])
            let text = "; it has left behind \(wanderers.sorted().map { "\($0) (sleep)" }.joined(separator: ", "))"
            #expect("\(HelperEvent.ended(end))".hasSuffix(text))
            #expect(wanderers.allSatisfy(exists))
            await eventually("its group has ended") { !exists(sleeper) }
            await helper.stop()
        }
    #endif
}
