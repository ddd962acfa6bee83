import CPortShims
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

/// Each test has a runtime folder of its own, so each runs in a process of its own.
@Suite("Services by name", .bounded())
struct ServiceNameTests {
    private static func error(_ body: () throws -> Void) -> TransportError? {
        do { try body() } catch let error as ConnectionError { return error.underlying as? TransportError } catch {}
        return nil
    }

    private static func listen(_ name: String) throws -> Listener {
        try Listener(at: .service(name), configuration: .patient)
    }

    /// Listens, and records why that fails: what a process of a test throws is not shown.
    private static func listenAndClose(_ name: String) throws {
        do { try listen(name).close() } catch {
            Issue.record("\(error)")
            throw error
        }
    }

    @Test("A client reaches a service by its name, also if the path of the socket is too long for an address")
    func byName() async {
        await #expect(processExitsWith: .success) {
            let folder = try TemporaryFolder()
            var runtime = folder.path
            for part in [String(repeating: "x", count: 90), String(repeating: "y", count: 90)] {
                setenv("XDG_RUNTIME_DIR", runtime, 1)
                let name = "com.example.\(String(repeating: "n", count: 52))"
                let listener = try Self.listen(name)
                #expect(listener.address == .service(name) && "\(listener.address)" == name)
                let serving = Task {
                    for await connection in listener { connection.vend(Echo(), as: "") }
                }
                let connection = try await Connection.open(.service(name), configuration: .patient)
                let bytes = (0..<1_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
                let echoed: [UInt8] = try await connection.root.echo(bytes)
                #expect(echoed == bytes)
                await connection.close()
                listener.close()
                await serving.value
                #expect(try FileManager.default.contentsOfDirectory(atPath: "\(runtime)/distant").isEmpty)
                runtime += "/\(part)"
                try #require(mkdir(runtime, 0o700) == 0)
            }
        }
    }

    final class Echo: Vendable {
        static var messages: MessageTable<Echo> { Message("echo") { _ in { (bytes: [UInt8]) in bytes } } }
    }

    @Test("A name that no service can have is refused before anything is made")
    func names() async {
        await #expect(processExitsWith: .success) {
            let folder = try TemporaryFolder()
            setenv("XDG_RUNTIME_DIR", folder.path, 1)
            let long = String(repeating: "a", count: 65)
            for name in ["", ".", "..", ".hidden", "-x", "a/b", "a b", "a\0b", "é", "a\n", long] {
                let error = Self.error { try Self.listen(name).close() }
                #expect(error?.code == .invalidName, "\(name)")
                await #expect(throws: ConnectionError.self) { try await Connection.open(.service(name)) }
            }
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
            try Self.listen(String(repeating: "a", count: 64)).close()
        }
    }

    @Test("Without a folder that only the user can use there is an error, and no other place is taken")
    func runtimeFolders() async {
        await #expect(processExitsWith: .success) {
            let folder = try TemporaryFolder()
            func reason(_ runtime: String?) -> String {
                if let runtime { setenv("XDG_RUNTIME_DIR", runtime, 1) } else { unsetenv("XDG_RUNTIME_DIR") }
                let error = Self.error { try Self.listen("x").close() }
                #expect(error?.code == .noRuntimeFolder, "\(runtime ?? "unset"): \(String(describing: error))")
                return error?.message ?? ""
            }
            #expect(reason("relative").contains("XDG_RUNTIME_DIR is no absolute path"))
            #expect(reason(folder.path("none")).contains("does not exist"))
            try #require(mkdir(folder.path("open"), 0o700) == 0 && chmod(folder.path("open"), 0o755) == 0)
            #expect(reason(folder.path("open")).contains("has mode 755"))
            close(open(folder.path("file"), O_CREAT | O_WRONLY, 0o700))
            #expect(reason(folder.path("file")).contains("is no folder"))
            // Where the user has none, the error names both places.
            let own = "/run/user/\(geteuid())"
            if access(own, F_OK) != 0 {
                let text = reason(nil)
                #expect(text.contains("XDG_RUNTIME_DIR") && text.contains(own))
            }
        }
    }

    @Test("A folder of services that others can use, or that is a link, is refused")
    func folderOfServices() async {
        await #expect(processExitsWith: .success) {
            let folder = try TemporaryFolder()
            setenv("XDG_RUNTIME_DIR", folder.path, 1)
            let services = folder.path("distant")
            try #require(mkdir(services, 0o700) == 0 && chmod(services, 0o770) == 0)
            #expect(Self.error { try Self.listen("x").close() }?.message.contains("has mode 770") == true)
            try #require(rmdir(services) == 0 && mkdir(folder.path("other"), 0o700) == 0)
            symlink(folder.path("other"), services)
            #expect(Self.error { try Self.listen("x").close() }?.message.contains("is no folder") == true)
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path("other")).isEmpty)
        }
    }

    @Test(
        "Of fifty that want the name of a dead process one gets it, and from then on nobody finds the name without it")
    func fifty() async {
        await #expect(processExitsWith: .success) {
            let folder = try TemporaryFolder()
            setenv("XDG_RUNTIME_DIR", folder.path, 1)
            let socket = folder.path("distant/x")
            try Self.listen("x").close()
            for round in 0..<20 {
                close(port_bind(socket, 0o600))
                let isOver = Mutex(false)
                // Once there is a listener, a client that connects again and again always gets through.
                async let refusals = onThread {
                    var found = 0
                    var refused = 0
                    while !isOver.withLock({ $0 }) {
                        let client = port_connect(socket)
                        if client >= 0 {
                            found += 1
                            close(client)
                        } else if found > 0, errno != EAGAIN {
                            refused += 1
                        }
                    }
                    return refused
                }
                let listeners = await withTaskGroup(of: Listener?.self) { group in
                    for _ in 0..<50 {
                        group.addTask {
                            try? await onThread { () -> Listener? in
                                do { return try Self.listen("x") } catch let error as ConnectionError {
                                    let cause = error.underlying as? TransportError
                                    #expect(cause?.code == .nameTaken, "round \(round): \(error)")
                                    #expect(cause?.message.contains("this process") == true, "round \(round): \(error)")
                                } catch { Issue.record("round \(round): \(error)") }
                                return nil
                            }
                        }
                    }
                    return await group.reduce(into: [Listener]()) { if let listener = $1 { $0.append(listener) } }
                }
                isOver.withLock { $0 = true }
                #expect(try await refusals == 0 && listeners.count == 1, "round \(round)")
                for listener in listeners { listener.close() }
                #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path("distant")).isEmpty)
            }
        }
    }

    @Test("A process that is killed while it takes a name, at any moment, keeps nobody out")
    func killedStart() async {
        await #expect(processExitsWith: .success) {
            let seed = TestSeed.next()
            var generator = SeededGenerator(seed: seed)
            let folder = try TemporaryFolder()
            setenv("XDG_RUNTIME_DIR", folder.path, 1)
            let program = try builtProgram("killed-peer")
            for round in 0..<60 {
                let (child, _) = try ChildProcess.launch(program, arguments: ["service", "x"])
                // From before it begins to after it listens.
                let pause = Duration.microseconds(Int.random(in: 0...30_000, using: &generator))
                try await Task.sleep(for: pause)
                child.kill()
                _ = await child.waitForExit()
                let listener = try Self.listen("x")
                #expect(try RegisteredService.all().map(\.pid) == [getpid()], "round \(round), seed \(seed)")
                listener.close()
            }
        }
    }

    @Test("The list of services says which run, by their locks alone, and lets nobody down")
    func list() async {
        await #expect(processExitsWith: .success) {
            let folder = try TemporaryFolder()
            setenv("XDG_RUNTIME_DIR", folder.path, 1)
            #expect(try RegisteredService.all().isEmpty)
            let program = try ServiceProgram("one")
            let connection = try await program.connect()
            let own = try Self.listen("two")
            // Listing while services start never makes one of them fail.
            let listing = Task {
                while !Task.isCancelled { _ = try RegisteredService.all() }
            }
            for _ in 0..<500 { try Self.listenAndClose("three") }
            listing.cancel()
            try await listing.value

            var services = try RegisteredService.all()
            #expect(services.map(\.name) == ["one", "two"] && services.map(\.state) == [.running, .running])
            #expect(services[0].pid == connection.pid && services[0].program == "killed-peer")
            #expect(services[1].pid == getpid())
            // What is no lock of this user is not listed.
            for name in [".x.distant-lock", "..distant-lock", "y"] {
                try Data("mine".utf8).write(to: URL(filePath: folder.path("distant/\(name)")))
            }
            // Nor is a lock of a name that no service can have, whatever a terminal would make of it.
            let lock = FileManager.default.contents(atPath: folder.path("distant/.two.distant-lock"))
            for name in [".\u{1B}[31mz.distant-lock", ".a: running, process 1.distant-lock"] {
                try #require(lock).write(to: URL(filePath: folder.path("distant/\(name)")))
            }
            kill(connection.pid, SIGKILL)
            _ = await connection.connection.ended
            // The name of a killed process is free at once, although its lock may be released a moment after its connection has ended.
            // The library waits a second for that. On a busy machine the process may need longer.
            var start = ContinuousClock.now
            while (try? Self.listen("one").close()) == nil {
                let mayBeThere = kill(connection.pid, 0) == 0 && ContinuousClock.now - start >= .seconds(1)
                try #require(mayBeThere, "the name is taken")
                start = .now
            }
            services = try RegisteredService.all()
            #expect(services.map(\.name) == ["two"] && services.map(\.state) == [.running])
            own.close()
            #expect(try RegisteredService.all().isEmpty)

            // One that was killed leaves its name behind, which is shown as stale.
            let next = try await program.connect()
            kill(next.pid, SIGKILL)
            await eventually("it is stale") { (try? RegisteredService.all().map(\.state)) == [.stale] }
            #expect(try RegisteredService.all().map(\.pid) == [next.pid])
            try Self.listenAndClose("one")
            #expect(try RegisteredService.all().isEmpty)
        }
    }

    private struct LedgerInterface: Interface {
        let pid = Signature<Int32>("pid")
        let echo = Signature<[UInt8], [UInt8]>("echo")
    }

    @Test("A service that hangs has failed for the helper of a client, whose calls and events say so")
    func hungService() async {
        await #expect(processExitsWith: .success) {
            let folder = try TemporaryFolder()
            setenv("XDG_RUNTIME_DIR", folder.path, 1)
            let program = try ServiceProgram("one")
            var options = HelperOptions()
            options.configuration = .patient
            options.unresponsiveAfter = .seconds(1)
            let helper = Helper(LedgerInterface.self, name: "ledger", options: options) {
                try await Connection.open(program.address, configuration: .patient)
            }
            let log = EventLog(helper.events)
            // On a busy machine the service may look hung at once.
            var found: Int32?
            while found == nil { found = try? await helper.remote.pid() }
            let pid = try #require(found)
            let count = log.ends.count
            kill(pid, SIGSTOP)
            let error = await #expect(throws: ConnectionError.self) { _ = try await helper.remote.echo([1, 2]) }
            #expect(error?.code == .outcomeUnknown, "\(error as Any)")
            #expect("\(error as Any)".contains("the peer has not answered for 1.0 seconds"), "\(error as Any)")
            await eventually("the end is reported") { log.ends.count > count }
            let end = log.ends[count]
            #expect(!end.isOrderly && end.reason.contains("the peer has not answered for 1.0 seconds"), "\(end)")
            // Nobody has ended the process, which keeps its name.
            #expect(try RegisteredService.all().map(\.pid) == [pid])
            await helper.stop()
            kill(pid, SIGKILL)
        }
    }
}

/// A service of the program “killed-peer”, in the runtime folder of this process.
struct ServiceProgram {
    struct Client {
        let connection: Connection
        let ledger: DistantObject
        let pid: Int32
    }

    private let name: String
    let address: Connection.Address

    init(_ name: String, _ ways: String..., within limit: Duration = TestTimeout.wait, output: String? = nil) throws {
        self.name = name
        address = .service(
            name, launching: try builtProgram("killed-peer"), arguments: ["service", name] + ways,
            environment: ["SWIFT_BACKTRACE": "enable=no"], output: output, within: limit)
    }

    func connect() async throws -> Client {
        let connection = try await Connection.open(address, configuration: .patient)
        let ledger = try await connection.root
        return Client(connection: connection, ledger: ledger, pid: try await ledger.pid())
    }
}
