import DistantObjects
import DistantTesting
import PortTransport
import TestSupport
import Testing

#if canImport(FoundationEssentials)
    import FoundationEssentials
    import Glibc
#else
    import Foundation
#endif

@Suite("Helpers that are restarted by hand", .bounded())
struct HelperRestartTests {
    private func helper(
        _ line: PeerLine, restart policy: RestartPolicy = .onFailure, options: HelperOptions = .init()
    ) -> Helper<OfficeInterface> {
        Helper(OfficeInterface.self, name: "office", restart: policy, options: options) { try line.next() }
    }

    @Test(
        "A call under way is answered, one made meanwhile waits for the next process, whatever the policy",
        arguments: [RestartPolicy.never, .onFailure, .always])
    func callsAtRestart(policy: RestartPolicy) async throws {
        let line = PeerLine()
        let helper = helper(line, restart: policy)
        async let held = helper.remote.hold()
        await line.office.started.wait()
        let first = try #require(helper.connection)
        async let restart: Void = helper.restart(timeout: TestTimeout.wait)
        await eventually("the connection takes no more calls") { first.isEnded }
        async let echo = helper.remote.echo(7)
        line.office.go.send()
        _ = try await held
        await restart
        #expect(try await echo == 7)
        #expect(line.calls == [["hold"], ["echo"]])
        await helper.stop()
    }

    @Test("A call that takes longer than the time-out of a restart fails, and the next process answers")
    func callBeyondRestart() async throws {
        let line = PeerLine()
        let helper = helper(line)
        let held = Task { try await helper.remote.hold() }
        await line.office.started.wait()
        await helper.restart(timeout: .milliseconds(50))
        await expectCode(.outcomeUnknown) { _ = try await held.value }
        #expect(try await helper.remote.echo(8) == 8)
        line.office.go.send()
        await helper.stop()
    }

    @Test("No call is lost or made twice over many restarts")
    func noCallLostAtRestarts() async throws {
        let line = PeerLine()
        let helper = helper(line)
        let isOver = Locked(false)
        let callers = (0..<4).map { caller in
            Task {
                var number = caller
                while !isOver.withLock({ $0 }) {
                    try await helper.remote.log(number)
                    number += 4
                }
                return Array(stride(from: caller, to: number, by: 4))
            }
        }
        for number in 0..<50 {
            #expect(try await helper.remote.echo(number) == number)
            await helper.restart(timeout: TestTimeout.wait)
        }
        isOver.withLock { $0 = true }
        var sent: [Int] = []
        for caller in callers { sent += try await caller.value }
        #expect(try await helper.remote.logged().sorted() == sent.sorted())
        #expect(line.all.count == 51)
        await helper.stop()
    }

    @Test("It starts a helper that does not run, or was given up, and not one that was stopped")
    func restartOfNone() async throws {
        let line = PeerLine(.dies(after: 0), .init())
        let helper = helper(line, restart: .never)
        await expectCode(.outcomeUnknown) { _ = try await helper.remote.echo(1) }
        await expectCode(.closed) { _ = try await helper.remote.echo(2) }
        await helper.restart()
        #expect(try await helper.remote.echo(3) == 3)
        await helper.stop()
        await helper.restart()
        await expectCode(.closed) { _ = try await helper.remote.echo(4) }

        let idle = PeerLine()
        let other = self.helper(idle)
        await other.restart()
        await eventually("it runs") { other.connection != nil }
        #expect(idle.all.count == 1)
        await other.stop()
    }

    @Test("A start under way is replaced, too")
    func restartWhileStarting() async throws {
        let line = PeerLine()
        let (begun, gate) = (Signal(), Signal())
        let starts = Locked(0)
        let helper = Helper(OfficeInterface.self, name: "office") {
            let isFirst = starts.withLock { starts in
                starts += 1
                return starts == 1
            }
            if isFirst {
                begun.send()
                await withTaskCancellationHandler {
                    await gate.wait()
                } onCancel: {
                    gate.send()
                }
            }
            return try line.next()
        }
        async let echo = helper.remote.echo(9)
        await begun.wait()
        // The call waits: it is not answered by the process whose start is replaced.
        await helper.restart()
        #expect(try await echo == 9)
        #expect(starts.withLock { $0 } == 2)
        #expect(line.calls.last == ["echo"])
        await helper.stop()
    }

    @Test("A restart that several tasks ask for, and a stop meanwhile, all come to their end")
    func restartsAndStop() async throws {
        let line = PeerLine()
        let helper = helper(line)
        for _ in 0..<20 {
            await withDiscardingTaskGroup { group in
                for _ in 0..<4 { group.addTask { await helper.restart(timeout: TestTimeout.wait) } }
            }
            #expect(try await helper.remote.echo(1) == 1)
        }
        async let restart: Void = helper.restart(timeout: TestTimeout.wait)
        await helper.stop()
        await restart
        #expect(helper.connection == nil)
        await expectCode(.closed) { _ = try await helper.remote.echo(2) }
    }

    @Test("After a restart the calls go to the program that has taken the place of the one before")
    func newerProgram() async throws {
        let folder = try TemporaryFolder()
        let program = folder.path("helper")
        let peer = try builtProgram("killed-peer")
        func install(_ build: Int) async throws {
            let script = "#!/bin/sh\nBUILD=\(build) exec '\(peer)' \"$@\"\n"
            // Another process writes it: a program that this one starts meanwhile would keep it open for a moment, and it could not be
            // run.
            let (writer, _) = try ChildProcess.launch(
                "/bin/sh",
                arguments: [
                    "-c", "printf %s \"$1\" >\"$0.new\" && chmod 700 \"$0.new\" && mv \"$0.new\" \"$0\"", program,
                    script,
                ])
            #expect(await writer.waitForExit() == .exited(0))
        }
        try await install(1)
        var options = HelperOptions()
        options.arguments = ["crash"]
        options.configuration = .patient
        let helper = Helper(
            CrasherInterface.self, program, restart: .onFailure(limit: 50, backoff: .zero ... .zero), options: options)
        let log = EventLog(helper.events)
        #expect(try await helper.remote.variable("BUILD") == "1")
        for build in 2...4 {
            try await install(build)
            #expect(try await helper.remote.variable("BUILD") == "\(build - 1)")
            await helper.restart(timeout: TestTimeout.wait)
            #expect(try await helper.remote.variable("BUILD") == "\(build)")
        }
        await helper.stop()
        await eventually("the ends are reported") { log.ends.count == 4 }
        #expect(log.ends.map(\.status) == Array(repeating: .exited(0), count: 4))
        #expect(log.ends.map(\.isOrderly) == Array(repeating: true, count: 4))
    }
}
