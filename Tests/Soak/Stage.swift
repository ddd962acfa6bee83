import DistantObjects
import Foundation
import PortTransport
import Synchronization

/// All processes of a run, and what happens to them.
final class Stage: Sendable {
    private static let name = "soak"
    private static let variable = "DISTANT_SOAK"
    private static let clientsOfProcess = 10
    private static let helperCount = 4

    private let clients: Int
    private let seed: UInt64
    private let folder: String
    private let counts = Mutex<[String: Int]>([:])

    init(clients: Int, seed: UInt64) throws {
        self.clients = clients
        self.seed = seed
        folder = NSTemporaryDirectory() + "/soak-\(getpid())"
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        setenv("XDG_RUNTIME_DIR", folder, 1)
        setenv(Self.variable, "\(getpid())", 1)
        // Backtraces of deaths that are wanted take long.
        setenv("SWIFT_BACKTRACE", "enable=no", 1)
    }

    private func count(_ what: String, _ number: Int = 1) { counts.withLock { $0[what, default: 0] += number } }

    // MARK: The run

    func run(for time: Duration) async throws {
        let own = [Process.descriptors(of: getpid()), Process.threads(of: getpid())]
        let (watcher, before) = try await warmUp()
        let end = ContinuousClock.now + time
        try await withThrowingTaskGroup(of: Void.self) { group in
            let processes = max(1, clients / Self.clientsOfProcess)
            for number in 0..<processes { group.addTask { try await self.keepClients(number, until: end) } }
            for number in 0..<Self.helperCount { group.addTask { try await self.keepHelper(number, until: end) } }
            group.addTask { try await self.list(until: end) }
            try await group.waitForAll()
        }
        try await expectRest(of: watcher, before)
        await watcher.close()
        try await killService(times: 10)
        try await expectNothing(own)
        print("soak: \(time) with \(clients) clients from seed \(seed)")
        for (what, number) in counts.withLock({ $0 }).sorted(by: { $0.key < $1.key }) {
            print("  \(what): \(number)")
        }
        try FileManager.default.removeItem(atPath: folder)
    }

    private var address: ConnectionAddress {
        .service(
            Self.name, launching: CommandLine.arguments[0], arguments: ["service", Self.name], within: .seconds(120))
    }

    /// Starts the service, and uses it in every way, so that all that is made once exists.
    private func warmUp() async throws -> (Connection, [Int]) {
        let watcher = try await Connection.open(address, configuration: .patient)
        var generator = SeededGenerator(seed: seed)
        let root = try await watcher.root(as: LedgerInterface.self)
        for _ in 0..<50 { try await Visits.call(root, &generator) }
        try await watchClients(seed: seed, killsAfter: nil)
        var use = try await root.use()
        // The service notes the ends of those clients a moment later.
        while use[2] > 1 {
            try await Task.sleep(for: .milliseconds(10))
            use = try await root.use()
        }
        return (watcher, use)
    }

    // MARK: Clients

    private func keepClients(_ number: Int, until end: ContinuousClock.Instant) async throws {
        var generator = SeededGenerator(seed: seed &+ 1_000 &* UInt64(number + 1))
        while ContinuousClock.now < end {
            let lives = Bool.random(using: &generator)
            try await watchClients(
                seed: UInt64.random(in: 0...(.max >> 8), using: &generator),
                killsAfter: lives ? nil : .milliseconds(Int.random(in: 0...1_000, using: &generator)))
        }
    }

    /// Starts a process of clients, and waits for its end.
    private func watchClients(seed: UInt64, killsAfter time: Duration?) async throws {
        let file = folder + "/visits-\(seed)"
        let (process, _) = try ChildProcess.launch(
            CommandLine.arguments[0], arguments: ["client", Self.name, "\(Self.clientsOfProcess)", "\(seed)", file])
        let killer = Task {
            guard let time else { return }
            try await Task.sleep(for: time)
            process.kill()
        }
        let status = await process.waitForExit()
        killer.cancel()
        switch status {
        case .exited(0):
            count("processes of \(Self.clientsOfProcess) clients that left")
            let text = String(decoding: FileManager.default.contents(atPath: file) ?? Data(), as: UTF8.self)
            count("visits of those", Int(text) ?? 0)
        case .signalled(SIGKILL) where time != nil:
            count("processes of \(Self.clientsOfProcess) clients that were killed")
        default: Verdict.fail("clients ended with \(status), seed \(seed)")
        }
        try? FileManager.default.removeItem(atPath: file)
    }

    /// Lists the services meanwhile.
    private func list(until end: ContinuousClock.Instant) async throws {
        while ContinuousClock.now < end {
            let services = try RegisteredService.all()
            guard services.map(\.name) == [Self.name], services[0].state == .running else {
                Verdict.fail("the services are \(services)")
            }
            count("lists of services")
            try await Task.sleep(for: .milliseconds(10))
        }
    }

    // MARK: Helpers

    private func keepHelper(_ number: Int, until end: ContinuousClock.Instant) async throws {
        var generator = SeededGenerator(seed: seed &+ UInt64(number))
        while ContinuousClock.now < end {
            var options = HelperOptions()
            options.arguments = ["helper"]
            options.configuration.handshakeTimeout = .seconds(120)
            options.configuration.lookupTimeout = .seconds(120)
            options.unresponsiveAfter = .seconds(20)
            let helper = Helper(
                LedgerInterface.self, CommandLine.arguments[0],
                restart: .onFailure(limit: .max, backoff: .zero ... .milliseconds(10)), options: options)
            for _ in 0..<Int.random(in: 1...20, using: &generator) where ContinuousClock.now < end {
                try await trouble(helper, &generator)
            }
            await helper.stop()
            count("helpers stopped")
        }
    }

    /// Does something to a helper while it is called.
    private func trouble(_ helper: Helper<LedgerInterface>, _ generator: inout SeededGenerator) async throws {
        let seeds = (0..<4).map { _ in generator.next() }
        let root = try await helper.running()
        let pid = helper.connection?.child?.pid
        let calls = Task {
            await withTaskGroup(of: (any Error)?.self) { group in
                for seed in seeds {
                    group.addTask {
                        var generator = SeededGenerator(seed: seed)
                        do {
                            for _ in 0..<10 { try await Visits.call(root, &generator) }
                            return nil
                        } catch { return error }
                    }
                }
                return await group.reduce(into: [any Error]()) { if let error = $1 { $0.append(error) } }
            }
        }
        var mayFail = true
        var isGone = false
        switch Int.random(in: 0...5, using: &generator) {
        case 0:
            if let pid { kill(pid, SIGKILL) }
            isGone = true
            count("helpers killed")
        case 1:
            if let pid { kill(pid, SIGSTOP) }
            isGone = true
            count("helpers stopped by SIGSTOP")
        case 2:
            await helper.restart()
            count("helpers restarted")
        default:
            mayFail = false
        }
        for error in await calls.value {
            // A stream that a helper reads when it is restarted ends with an error there, which its call passes on.
            guard mayFail, error is ConnectionError || error is RemoteError else {
                Verdict.fail("a helper's call failed: \(error)")
            }
            count("calls of helpers that failed with it")
        }
        // The next calls may not meet the end of this process.
        while isGone, let pid, helper.connection?.child?.pid == pid { try await Task.sleep(for: .milliseconds(10)) }
    }

    // MARK: The end

    /// Waits until the service has what it had before, as long as something changes.
    private func expectRest(of watcher: Connection, _ before: [Int]) async throws {
        let root = try await watcher.root(as: LedgerInterface.self)
        var last: [Int] = []
        var end = ContinuousClock.now + .seconds(30)
        while ContinuousClock.now < end {
            let use = try await root.use()
            // Threads end after a while, and some more may be kept ready.
            if use[0] <= before[0], use[1] <= before[1] + 8, use[2...] == before[2...] { return }
            if use != last { end = .now + .seconds(30) }
            last = use
            try await Task.sleep(for: .milliseconds(100))
        }
        Verdict.fail("the service has descriptors, threads, connections and entries \(last), and had \(before)")
    }

    /// Kills the service while clients come, and expects that the next client has it started again.
    private func killService(times: Int) async throws {
        var last: Int32 = 0
        for number in 0..<times {
            async let clients: Void = watchClients(seed: seed &+ UInt64(number), killsAfter: nil)
            let service = try RegisteredService.all().first { $0.name == Self.name && $0.state == .running }
            if let pid = service?.pid, pid != last, pid > 1 {
                kill(pid, SIGKILL)
                last = pid
                count("services killed")
            }
            try await clients
            let connection = try await Connection.open(address, configuration: .patient)
            _ = try await connection.root(as: LedgerInterface.self).use()
            await connection.close()
        }
        let services = try RegisteredService.all()
        guard services.map(\.state) == [.running] else { Verdict.fail("the services are \(services)") }
        kill(services[0].pid, SIGKILL)
    }

    /// Expects that no process and no descriptor is left, and no file but those of the killed service.
    private func expectNothing(_ own: [Int]) async throws {
        let variable = "\(Self.variable)=\(getpid())"
        let end = ContinuousClock.now + .seconds(30)
        var left = Process.all(with: variable)
        while !left.isEmpty, ContinuousClock.now < end {
            try await Task.sleep(for: .milliseconds(100))
            left = Process.all(with: variable)
        }
        guard left.isEmpty else { Verdict.fail("the processes \(left) are left") }
        let files = try FileManager.default.contentsOfDirectory(atPath: folder + "/distant").sorted()
        guard files == [".\(Self.name).distant-lock", Self.name] else { Verdict.fail("the files \(files) are left") }
        // The loop and Dispatch keep some.
        let descriptors = Process.descriptors(of: getpid())
        guard descriptors <= own[0] + 24 else {
            let kinds = Process.kinds(of: getpid())
            Verdict.fail(
                "this process has \(descriptors) descriptors, and had \(own[0]) before it was connected: \(kinds)")
        }
    }
}
