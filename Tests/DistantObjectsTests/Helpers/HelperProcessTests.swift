import DistantObjects
import PortTransport
import Synchronization
import TestSupport
import Testing

#if canImport(FoundationEssentials)
    import FoundationEssentials
    import Glibc
#else
    import Foundation
#endif

/// The messages of the program “killed-peer crash”.
struct CrasherInterface: Interface {
    let pid = Signature<Int32>("pid")
    let echo = Signature<[UInt8], [UInt8]>("echo")
    let die = Signature<Void, Int32>("die")
    let leave = Signature<Void, Int32>("leave")
    let cut = Signature<Void>("cut")
    let say = Signature<Void, String>("say")
    let note = Signature<String, String, String, Int32>("note")
    let sleeper = Signature<Int32>("sleeper")
    let wanderer = Signature<Int32>("wanderer")
    let descriptors = Signature<[Int32], Int32>("descriptors")
    let variable = Signature<String?, String>("variable")
    let write = Signature<Int32, [UInt8], String>("write")
}

/// The events of a helper so far.
final class EventLog: Sendable {
    private let lines = Mutex<[HelperEvent]>([])

    init(_ events: AsyncStream<HelperEvent>) {
        Task { for await event in events { lines.withLock { $0.append(event) } } }
    }

    var all: [HelperEvent] { lines.withLock { $0 } }
    var ends: [HelperEnd] { all.compactMap { if case .ended(let end) = $0 { end } else { nil } } }
}

@Suite("Helpers in processes", .bounded())
struct HelperProcessTests {
    func helper(
        _ ways: String..., restart policy: RestartPolicy = .onFailure(limit: 1_000, backoff: .zero ... .zero),
        _ change: (inout HelperOptions) -> Void = { _ in }
    ) throws -> Helper<CrasherInterface> {
        var options = HelperOptions()
        options.arguments = ways.isEmpty ? ["crash"] : ways
        options.configuration = .patient
        // Backtraces of deaths that a test wants take long.
        options.environment["SWIFT_BACKTRACE"] = "enable=no"
        change(&options)
        return try Helper(CrasherInterface.self, builtProgram("killed-peer"), restart: policy, options: options)
    }

    /// Whether a process of that number exists, other than as a zombie.
    func exists(_ pid: Int32) -> Bool {
        guard let stat = FileManager.default.contents(atPath: "/proc/\(pid)/stat") else { return false }
        return !(String(decoding: stat, as: UTF8.self).split(separator: ")").last?.hasPrefix(" Z") ?? false)
    }

    @Test("It is given descriptors by name, over a socketpair and over pipes, each once, and no others")
    func namedDescriptors() async throws {
        let folder = try TemporaryFolder()
        for transport in [ChildProcess.Transport.socketpair, .pipes] {
            let names = ["log", "trace 2", "z"]
            let files = names.map { open(folder.path($0), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600) }
            defer { for file in files { close(file) } }
            let helper = try helper {
                $0.transport = transport
                $0.process.descriptors = Dictionary(uniqueKeysWithValues: zip(names, files))
            }
            // Those that it inherits are close-on-exec by now, like its own.
            var numbers: Set<Int32> = []
            for name in names.reversed() {
                let bytes = (0..<300).map { UInt8(truncatingIfNeeded: $0 &* name.utf8.count) }
                numbers.insert(try await helper.remote.write(bytes, name))
                #expect(FileManager.default.contents(atPath: folder.path(name)).map { Array($0) } == bytes)
                await #expect(throws: (any Error).self) { _ = try await helper.remote.write(bytes, name) }
            }
            let first: Int32 = transport == .socketpair ? 4 : 3
            #expect(numbers == Set(first..<first + 3))
            #expect(try await helper.remote.variable("DISTANT_OBJECTS_DESCRIPTORS") == nil)
            await helper.stop()
        }
        for names in [["a:b"], [""], ["a\nb"], ["é"], (0...100).map { "\($0)" }] {
            let helper = try helper { options in
                options.process.descriptors = Dictionary(uniqueKeysWithValues: names.map { ($0, 0) })
            }
            await #expect(throws: ConnectionError.self) { _ = try await helper.remote.pid() }
            await helper.stop()
        }
    }

    @Test("A helper that was killed is another process at the next call, and the events tell")
    func killedHelper() async throws {
        let helper = try helper()
        let log = EventLog(helper.events)
        let first = try await helper.remote.pid()
        #expect(helper.connection?.child?.pid == first)
        kill(first, SIGKILL)
        var second = first
        // The system may report the end only after the next call.
        while second == first {
            do { second = try await helper.remote.pid() } catch let error as ConnectionError {
                #expect(error.code == .outcomeUnknown)
            }
        }
        await helper.stop()
        #expect(!exists(first) && !exists(second))
        await eventually("both ends are reported") { log.ends.count == 2 }
        #expect(log.ends.map(\.status) == [.signalled(SIGKILL), .exited(0)])
        #expect(log.ends.map(\.isOrderly) == [false, true])
        #expect(log.ends.first?.reason.contains("SIGKILL") == true)
        #expect(log.all.compactMap { if case .started(let pid) = $0 { pid } else { nil } } == [first, second])
    }

    @Test("What decides whether it is started again is its end", arguments: [0, 1, 125, -6])
    func statusDecides(status: Int32) async throws {
        let helper = try helper()
        let log = EventLog(helper.events)
        let first = try await helper.remote.pid()
        await expectCode(.outcomeUnknown) {
            if status >= 0 { try await helper.remote.leave(status) } else { try await helper.remote.die(-status) }
        }
        if status == 125 {
            let error = await #expect(throws: ConnectionError.self) { _ = try await helper.remote.pid() }
            #expect(error?.code == .closed)
            #expect(error?.description.contains("status 125") == true)
        } else {
            #expect(try await helper.remote.pid() != first)
        }
        await helper.stop()
        await eventually("the end is reported") { !log.ends.isEmpty }
        #expect(log.ends.first?.status == (status < 0 ? .signalled(-status) : .exited(status)))
    }

    @Test(
        "A program that cannot run is not tried again, and one that exits at once is given up",
        arguments: ["missing", "text", "125", "3"])
    func uselessProgram(kind: String) async throws {
        let folder = try TemporaryFolder()
        var program = try builtProgram("killed-peer")
        var options = HelperOptions()
        options.arguments = ["early", kind]
        options.configuration = .patient
        if kind == "missing" { program = folder.path("missing") }
        if kind == "text" {
            program = folder.path("text")
            #expect(FileManager.default.createFile(atPath: program, contents: Data("no program".utf8)))
        }
        let helper = Helper(
            CrasherInterface.self, program, restart: .onFailure(limit: 4, backoff: .zero ... .zero), options: options)
        let log = EventLog(helper.events)
        let error = await #expect(throws: ConnectionError.self) { _ = try await helper.remote.pid() }
        #expect(error?.code == .closed)
        #expect(error?.isSafeToRetry == true)
        await helper.stop()
        await eventually("the ends are reported") { log.ends.count == (kind == "3" ? 3 : 1) }
        await expectCode(.closed) { _ = try await helper.remote.pid() }
    }

    @Test("A stopped helper is hung, is killed and replaced")
    func stoppedHelper() async throws {
        let helper = try helper { $0.unresponsiveAfter = .seconds(1) }
        let log = EventLog(helper.events)
        // On a busy machine one may look hung before it is stopped: then another one takes its place.
        var child: ChildProcess?
        while child == nil {
            _ = try await helper.running()
            child = helper.connection?.child
        }
        let stopped = try #require(child)
        await stopped.stop()
        #expect(await stopped.waitForExit() == .signalled(SIGKILL))
        var pid = stopped.pid
        while pid == stopped.pid { pid = (try? await helper.remote.pid()) ?? pid }
        await eventually("it is reported") {
            log.all.contains { if case .unresponsive = $0 { true } else { false } } && !log.ends.isEmpty
        }
        #expect(log.ends.first?.reason == "it had not answered for 1.0 seconds, and it was ended by signal 9 (SIGKILL)")
        await helper.stop()
    }

    @Test("A helper that its terminal stops is not hung, and goes on")
    func suspendedHelper() async throws {
        let helper = try helper {
            $0.unresponsiveAfter = .milliseconds(300)
            // On a busy machine it may look hung before it is stopped.
            $0.whenUnresponsive = .report
        }
        let log = EventLog(helper.events)
        let first = try await helper.remote.pid()
        await helper.connection?.child?.stop(by: SIGTTIN)
        let call = Task { try await helper.remote.echo([1, 2]) }
        await eventually("the stop is reported") {
            log.all.contains { if case .suspended(SIGTTIN) = $0 { true } else { false } }
        }
        kill(first, SIGCONT)
        #expect(try await call.value == [1, 2])
        #expect(try await helper.remote.pid() == first)
        await helper.stop()
    }

    @Test("A helper that is hung can be ended by SIGABRT, or only be reported")
    func remedies() async throws {
        let aborted = try helper {
            $0.unresponsiveAfter = .milliseconds(200)
            $0.whenUnresponsive = .abort
        }
        let log = EventLog(aborted.events)
        _ = try await aborted.running()
        let start = ContinuousClock.now
        await aborted.connection?.child?.stop()
        // It may answer in the moment between the signal that wakes it and the one that ends it.
        _ = try? await aborted.remote.echo([1])
        await eventually("the end is reported") { !log.ends.isEmpty }
        let status = log.ends.first?.status
        // One that has not ended five seconds after SIGABRT, as on a busy machine, is killed.
        let mayBeKilled = ContinuousClock.now - start > .seconds(5)
        #expect(status == .signalled(SIGABRT) || mayBeKilled && status == .signalled(SIGKILL))
        await aborted.stop()

        let reported = try helper {
            $0.unresponsiveAfter = .milliseconds(200)
            $0.whenUnresponsive = .report
        }
        let events = EventLog(reported.events)
        let pid = try await reported.remote.pid()
        await reported.connection?.child?.stop()
        let call = Task { try await reported.remote.echo([1]) }
        await eventually("it is reported") {
            events.all.contains { if case .unresponsive = $0 { true } else { false } }
        }
        kill(pid, SIGCONT)
        #expect(try await call.value == [1])
        #expect(try await reported.remote.pid() == pid)
        await reported.stop()
    }

    @Test("What it has started ends with it, whether it is killed or stopped", arguments: [true, false])
    func groupEnds(isKilled: Bool) async throws {
        let helper = try helper()
        let (pid, sleeper) = (try await helper.remote.pid(), try await helper.remote.sleeper())
        #expect(exists(sleeper))
        if isKilled { kill(pid, SIGKILL) } else { await helper.stop() }
        await eventually("the sleeper has ended") { !exists(sleeper) }
        await helper.stop()
    }

    @Test("A helper that ignores the end of its connection and SIGTERM is killed by stop")
    func stubbornHelper() async throws {
        let helper = try helper("crash", "blocked", "stubborn") { $0.configuration.exitTimeout = .milliseconds(100) }
        let log = EventLog(helper.events)
        let pid = try await helper.remote.pid()
        await helper.stop()
        #expect(!exists(pid))
        await eventually("the end is reported") { !log.ends.isEmpty }
        #expect(log.ends.map(\.status) == [.signalled(SIGKILL)])
    }

    @Test("Of its standard error the last 64 KiB come with its end")
    func keptErrors() async throws {
        let helper = try helper { $0.standardError = .kept }
        let log = EventLog(helper.events)
        try await helper.remote.say("one")
        let long = String(repeating: "x", count: 70 << 10)
        try await helper.remote.say(long)
        try await helper.remote.say("last")
        await expectCode(.outcomeUnknown) { try await helper.remote.die(SIGKILL) }
        await eventually("the end is reported") { !log.ends.isEmpty }
        let lines = log.ends.first?.lastErrorLines ?? ""
        #expect(lines.utf8.count == 64 << 10)
        #expect(lines.hasSuffix("x\nout last\nerr last\n"))
        // The next process begins anew.
        try await helper.remote.say("two")
        await helper.stop()
        await eventually("the second end is reported") { log.ends.count == 2 }
        #expect(log.ends.last?.lastErrorLines == "out two\nerr two\n")
    }

    @Test("It inherits no descriptor, not even one that is not close-on-exec")
    func inheritedDescriptors() async throws {
        // Without close-on-exec, as other code may open it.
        let leaked = open("/dev/null", O_RDONLY)
        defer { close(leaked) }
        // A free number: another one may be a connection of another test.
        let high = fcntl(leaked, F_DUPFD, 200)
        defer { close(high) }
        let helper = try helper()
        #expect(try await helper.remote.descriptors(1_000) == [0, 1, 2])
        await helper.stop()
    }

    @Test("Nothing that may have run is repeated, and no unsent call is lost, over many deaths")
    func noRunTwice() async throws {
        let seed = TestSeed.next()
        var generator = SeededGenerator(seed: seed)
        let folder = try TemporaryFolder()
        let helper = try helper()
        var answered: [String] = []
        var unknown: [String] = []
        for number in 0..<60 {
            let signal = [0, 0, 0, SIGKILL, SIGSEGV, SIGTERM][Int.random(in: 0..<6, using: &generator)]
            do {
                let line = "\(number)"
                let answer = try await helper.remote.note(line, folder.path("notes"), signal)
                #expect(answer == line, "seed \(seed)")
                answered.append(line)
            } catch let error as ConnectionError where error.code == .outcomeUnknown {
                unknown.append("\(number)")
            }
        }
        await helper.stop()
        let notes = try String(contentsOfFile: folder.path("notes"), encoding: .utf8).split(separator: "\n").map(
            String.init)
        #expect(Set(notes).count == notes.count, "seed \(seed)")
        #expect(Set(answered).isSubset(of: notes), "seed \(seed)")
        #expect(answered.count + unknown.count == 60, "seed \(seed)")
    }
}
