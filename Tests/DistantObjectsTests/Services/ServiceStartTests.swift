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

/// Each test has a runtime folder of its own, so each runs in a process of its own.
@Suite("Services that are started when they are needed", .bounded())
struct ServiceStartTests {
    private static func names(_ folder: TemporaryFolder) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder.path("distant")).sorted()
    }

    private static func lines(_ path: String) -> [Int32] {
        let content = FileManager.default.contents(atPath: path) ?? Data()
        return String(decoding: content, as: UTF8.self).split(separator: "\n").compactMap { Int32($0) }
    }

    private static func error(_ program: ServiceProgram) async -> TransportError? {
        do { _ = try await program.connect() } catch let error as ConnectionError {
            return error.underlying as? TransportError
        } catch {}
        return nil
    }

    @Test("A hundred clients at once get one process, and it serves the calls of each in their order")
    func hundred() async {
        await #expect(processExitsWith: .success) {
            let folder = try TemporaryFolder()
            setenv("XDG_RUNTIME_DIR", folder.path, 1)
            let program = try ServiceProgram("counted", "note=\(folder.path("pids"))")
            let pids = try await withThrowingTaskGroup(of: Int32.self) { group in
                for client in 0..<100 {
                    group.addTask {
                        let open = try await program.connect()
                        for number in 0..<20 { try await open.ledger.message("add").oneWay("\(client)", number) }
                        let all: [Int] = try await open.ledger.all("\(client)")
                        #expect(all == Array(0..<20))
                        await open.connection.close()
                        return open.pid
                    }
                }
                return try await group.reduce(into: Set<Int32>()) { $0.insert($1) }
            }
            #expect(pids.count == 1 && Self.lines(folder.path("pids")) == Array(pids))
            for pid in pids { kill(pid, SIGKILL) }
        }
    }

    @Test("Clients in several processes that start it together get one process")
    func severalProcesses() async {
        await #expect(processExitsWith: .success) {
            let folder = try TemporaryFolder()
            setenv("XDG_RUNTIME_DIR", folder.path, 1)
            let notes = folder.path("pids")
            let peer = try builtProgram("killed-peer")
            let children = try (0..<10).map { _ in
                try ChildProcess.launch(peer, arguments: ["starter", "shared", "note=\(notes)"])
            }
            let connection = try await ServiceProgram("shared", "note=\(notes)").connect()
            #expect(Self.lines(notes) == [connection.pid])
            // The one that has started it ends, and the service goes on.
            for (child, _) in children { child.kill() }
            for (child, _) in children { _ = await child.waitForExit() }
            let bytes: [UInt8] = [1, 2, 3]
            let echoed: [UInt8] = try await connection.ledger.echo(bytes)
            #expect(echoed == bytes)
            kill(connection.pid, SIGKILL)
            _ = await connection.connection.ended
            // Started anew at once.
            let next = try await ServiceProgram("shared", "note=\(notes)").connect()
            #expect(next.pid != connection.pid && Self.lines(notes) == [connection.pid, next.pid])
            kill(next.pid, SIGKILL)
        }
    }

    @Test("A program that ends before it listens is the reason of the error, and its name is free again")
    func endsEarly() async {
        await #expect(processExitsWith: .success) {
            let folder = try TemporaryFolder()
            setenv("XDG_RUNTIME_DIR", folder.path, 1)
            let error = await Self.error(try ServiceProgram("x", "exit=7"))
            #expect(error?.code == .launchFailed && error?.message.contains("ended with status 7") == true)
            // Status 0 may be the end of one that was idle, so it is tried a few times.
            let notes = folder.path("pids")
            let orderly = await Self.error(try ServiceProgram("x", "note=\(notes)", "exit=0"))
            #expect(orderly?.message.contains("ended with status 0") == true && Self.lines(notes).count == 3)
            do {
                _ = try await Connection.open(.service("x", launching: "/none/such"))
                Issue.record("it was started")
            } catch let error as ConnectionError {
                #expect((error.underlying as? TransportError)?.code == .launchFailed, "\(error)")
            }
            try Listener(at: .service("x")).close()
            #expect(try Self.names(folder).isEmpty)
        }
    }

    @Test("A program that does not listen in time is ended by the process that has started it")
    func neverListens() async {
        await #expect(processExitsWith: .success) {
            let folder = try TemporaryFolder()
            setenv("XDG_RUNTIME_DIR", folder.path, 1)
            let notes = folder.path("pids")
            let error = await Self.error(
                try ServiceProgram("x", "note=\(notes)", "never", within: .milliseconds(500)))
            #expect(error?.code == .launchFailed && error?.message.contains("did not listen within") == true)
            await eventually("it is ended") { Usage.children.isEmpty }
            let connection = try await ServiceProgram("x").connect()
            kill(connection.pid, SIGKILL)
        }
    }

    @Test("What such a program has started in its session is ended with it, so that nothing keeps the name")
    func sessionNeverListens() async {
        await #expect(processExitsWith: .success) {
            let folder = try TemporaryFolder()
            setenv("XDG_RUNTIME_DIR", folder.path, 1)
            let notes = folder.path("pids")
            let script = "sleep 1000 & echo $! $$ >\"$0\"; sleep 1000"
            await #expect(throws: ConnectionError.self) {
                _ = try await Connection.open(
                    .service("x", launching: "/bin/sh", arguments: ["-c", script, notes], within: .seconds(1)),
                    configuration: .patient)
            }
            // On a busy machine the shell may not have come so far.
            let text = String(decoding: FileManager.default.contents(atPath: notes) ?? Data(), as: UTF8.self)
            let pids = text.split(whereSeparator: \.isWhitespace).compactMap { Int32($0) }
            await eventually("both have ended") { !pids.contains { HelperProcessTests().exists($0) } }
            // The kernel lets go of the lock a moment after the last of them is gone.
            await eventually("the name is free") { (try? Listener(at: .service("x")).close()) != nil }
        }
    }

    @Test(
        "If the process that has started it does not end it in time, the next client does, and starts another",
        .enabled(if: FileManager.default.fileExists(atPath: "/proc/self/fdinfo")))
    func starterIsGone() async {
        await #expect(processExitsWith: .success) {
            let folder = try TemporaryFolder()
            setenv("XDG_RUNTIME_DIR", folder.path, 1)
            let notes = folder.path("pids")
            let (starter, _) = try ChildProcess.launch(
                builtProgram("killed-peer"), arguments: ["starter", "x", "limit=30000", "note=\(notes)", "never"])
            await eventually("it is started") { !Self.lines(notes).isEmpty }
            #expect(try RegisteredService.all().map(\.state) == [.starting])
            await eventually("it has passed the lock on") {
                let folder = "/proc/\(starter.pid)/fd"
                return !((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []).contains { number in
                    (try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/\(number)"))?
                        .hasSuffix(".x.distant-lock") == true
                }
            }
            // Stopped, it cannot end the program itself.
            starter.send(SIGSTOP)
            // A program that only has the file open is left alone.
            let other = open(folder.path("distant/.x.distant-lock"), O_RDWR | O_CLOEXEC)
            let connection: ServiceProgram.Client
            do { connection = try await ServiceProgram("x", within: .seconds(40)).connect() } catch {
                Issue.record("\(error)")
                throw error
            }
            close(other)
            // The process that has started it has the lock open at times, too, and is not ended.
            #expect(starter.exitStatus == nil)
            starter.kill()
            _ = await starter.waitForExit()
            let hung = try #require(Self.lines(notes).first)
            await eventually("it is ended") { kill(hung, 0) != 0 || Self.isZombie(hung) }
            #expect(connection.pid != hung)
            kill(connection.pid, SIGKILL)
        }
    }

    private static func isZombie(_ pid: Int32) -> Bool {
        let stat = FileManager.default.contents(atPath: "/proc/\(pid)/stat") ?? Data()
        return String(decoding: stat, as: UTF8.self).split(separator: ")").last?.hasPrefix(" Z") ?? false
    }

    @Test("A program may go on as another process, which then has the name")
    func again() async {
        await #expect(processExitsWith: .success) {
            let folder = try TemporaryFolder()
            setenv("XDG_RUNTIME_DIR", folder.path, 1)
            let notes = folder.path("pids")
            let connection = try await ServiceProgram("x", "again", "note=\(notes)").connect()
            #expect(Self.lines(notes) == [connection.pid])
            #expect(try RegisteredService.all().map(\.pid) == [connection.pid])
            kill(connection.pid, SIGKILL)
        }
    }

    @Test("A program that goes on as others, none of which listens, is started a few times only")
    func againAndAgain() async {
        await #expect(processExitsWith: .success) {
            let folder = try TemporaryFolder()
            setenv("XDG_RUNTIME_DIR", folder.path, 1)
            let notes = folder.path("pids")
            let error = await Self.error(try ServiceProgram("x", "again", "note=\(notes)", "exit=0"))
            #expect(error?.code == .launchFailed, "\(String(describing: error))")
            #expect(1...3 ~= Self.lines(notes).count)
        }
    }

    @Test("A client gives a program that another has started the time that this one gives it")
    func limitOfOther() async {
        await #expect(processExitsWith: .success) {
            let folder = try TemporaryFolder()
            setenv("XDG_RUNTIME_DIR", folder.path, 1)
            let notes = folder.path("pids")
            let (starter, _) = try ChildProcess.launch(
                builtProgram("killed-peer"), arguments: ["starter", "x", "note=\(notes)", "never"])
            await eventually("it is started") { !Self.lines(notes).isEmpty }
            let error = await Self.error(try ServiceProgram("x", within: .milliseconds(300)))
            #expect(error?.code == .nameTaken && error?.message.contains("process \(starter.pid)") == true)
            let pid = try #require(Self.lines(notes).first)
            #expect(kill(pid, 0) == 0 && starter.exitStatus == nil)
            starter.kill()
            kill(pid, SIGKILL)
        }
    }

    @Test("A lock that a process was given without being held is not its own")
    func foreignLock() async {
        await #expect(processExitsWith: .success) {
            let folder = try TemporaryFolder()
            setenv("XDG_RUNTIME_DIR", folder.path, 1)
            let connection = try await ServiceProgram("x").connect()
            let lock = open(folder.path("distant/.x.distant-lock"), O_RDWR | O_CLOEXEC)
            var options = ChildProcess.Options()
            options.descriptors = ["distant.lock": lock]
            options.environmentBytes = [Array("SWIFT_BACKTRACE".utf8): Array("enable=no".utf8)]
            let (intruder, _) = try ChildProcess.launch(
                builtProgram("killed-peer"), arguments: ["service", "x"], over: .pipes, options: options)
            #expect(await intruder.waitForExit() != .exited(0))
            #expect(try RegisteredService.all().map(\.pid) == [connection.pid])
            kill(connection.pid, SIGKILL)
        }
    }

    @Test("A process that has the name and does not listen is named by the error, and is left alone")
    func otherHolder() async {
        await #expect(processExitsWith: .success) {
            let folder = try TemporaryFolder()
            setenv("XDG_RUNTIME_DIR", folder.path, 1)
            // A listener whose socket was removed by somebody else.
            let listener = try Listener(at: .service("x"))
            unlink(folder.path("distant/x"))
            let error = await Self.error(try ServiceProgram("x", within: .milliseconds(100)))
            #expect(error?.code == .nameTaken && error?.message.contains("process \(getpid())") == true)
            listener.close()
        }
    }

    @Test("What it prints is appended to a file, and it is in a session of its own without other descriptors")
    func surroundingsOfService() async {
        await #expect(processExitsWith: .success) {
            let folder = try TemporaryFolder()
            setenv("XDG_RUNTIME_DIR", folder.path, 1)
            let output = folder.path("output")
            try Data("before\n".utf8).write(to: URL(filePath: output))
            let open = dup(0)
            defer { close(open) }
            let connection = try await ServiceProgram("x", output: output).connect()
            #expect(getsid(connection.pid) == connection.pid)
            let descriptors = try FileManager.default.contentsOfDirectory(atPath: "/proc/\(connection.pid)/fd")
                .compactMap {
                    try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(connection.pid)/fd/\($0)")
                }
            #expect(descriptors.filter { $0 == output }.count == 2)
            #expect(descriptors.filter { $0.hasSuffix(".x.distant-lock") }.count == 1)
            kill(connection.pid, SIGKILL)
        }
    }
}
