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

    @Test(
        "A start that fails has the process's number, its status and its output, however it fails",
        arguments: ["silence", "exit", "signal", "cancellation"])
    func remainsOfStart(way: String) async throws {
        let scripts = [
            "silence": "exec sleep 1000", "exit": "exit 3", "signal": "kill -TERM $$",
            "cancellation": "exec sleep 1000",
        ]
        var options = HelperOptions()
        options.arguments = ["-c", "echo $$ >&2; \(try #require(scripts[way]))"]
        options.configuration = .patient
        if way == "silence" { options.configuration.handshakeTimeout = .milliseconds(300) }
        options.standardError = .kept
        let helper = Helper(CrasherInterface.self, "/bin/sh", restart: .never, options: options)
        let log = EventLog(helper.events)
        helper.start()
        if way == "cancellation" { await helper.stop() }
        await eventually("the end is reported") { !log.ends.isEmpty }
        let end = try #require(log.ends.first)
        let pid = try #require(end.pid)
        // One that is ended by this process may not have come so far, and is killed if it gets no processor for a second.
        let mayBeEarly = way == "silence" || way == "cancellation"
        let expected: ChildProcess.ExitStatus = way == "exit" ? .exited(3) : .signalled(SIGTERM)
        #expect(end.status == expected || mayBeEarly && end.status == .signalled(SIGKILL), "\(end)")
        if !mayBeEarly || !end.lastErrorLines.isEmpty { #expect(end.lastErrorLines == "\(pid)\n") }
        #expect(!exists(pid) && end.isOrderly == (way == "cancellation"))
        await helper.stop()
    }

    #if os(Linux)
        @Test("A start that times out although the program has ended says so, and names what it has left behind")
        func timeoutOfEndedProgram() async throws {
            let folder = try TemporaryFolder()
            let script =
                "setsid sh -c 'echo $$ >\"$0\".new; mv \"$0\".new \"$0\"; exec sleep 1000' \"$0\" & "
                + "while ! [ -f \"$0\" ]; do sleep 0.01; done; exit 3"
            var limit = Duration.seconds(1)
            while true {
                var options = HelperOptions()
                let file = folder.path("\(limit)")
                options.arguments = ["-c", script, file]
                options.configuration = .patient
                options.configuration.handshakeTimeout = limit
                let helper = Helper(CrasherInterface.self, "/bin/sh", restart: .never, options: options)
                let log = EventLog(helper.events)
                helper.start()
                await eventually("the end is reported") { !log.ends.isEmpty }
                await helper.stop()
                let end = try #require(log.ends.first)
                // On a busy machine the program needs more time to end by itself.
                guard case .exited = end.status else {
                    limit *= 4
                    continue
                }
                let left = try #require(
                    FileManager.default.contents(atPath: file).flatMap {
                        Int32(String(decoding: $0, as: UTF8.self).dropLast())
                    })
                defer { kill(left, SIGKILL) }
                #expect(end.status == .exited(3) && end.reason.contains("the program ended with status 3"), "\(end)")
                #expect(end.leftProcesses.map(\.pid) == [left])
                return
            }
        }

        @Test("A program that is being written is started once it is whole, and its failed starts do not count")
        func writtenProgram() async throws {
            let folder = try TemporaryFolder()
            let path = folder.path("program")
            try FileManager.default.copyItem(atPath: builtProgram("killed-peer"), toPath: path)
            let writing = open(path, O_WRONLY | O_CLOEXEC)
            var options = HelperOptions()
            options.arguments = ["crash"]
            options.configuration = .patient
            let policy = RestartPolicy.onFailure(limit: 0, backoff: .zero ... .milliseconds(10))
            let helper = Helper(CrasherInterface.self, path, restart: policy, options: options)
            let log = EventLog(helper.events)
            async let pid = helper.remote.pid()
            await eventually("it was tried four times") { log.ends.count >= 4 }
            close(writing)
            #expect(try await pid > 0)
            #expect(log.ends.allSatisfy { $0.pid == nil && $0.reason.contains(path) }, "\(log.ends)")
            await helper.stop()
        }

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
