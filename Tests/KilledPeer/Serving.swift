import DistantObjects
import Synchronization

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// The root of a service: it keeps lines, in the order in which they come.
final class Ledger: Vendable {
    private let lines = Mutex<[String: [Int]]>([:])

    static var messages: MessageTable<Ledger> {
        Message("pid") { _ in { getpid() } }
        Message("echo") { _ in { (bytes: [UInt8]) in bytes } }
        Message("add", Ledger.add)
        Message("all", Ledger.all)
        Message("wait", Ledger.wait)
        Message("leave") { _ in { (status: Int32) in exit(status) } }
    }

    /// Appends a number to the lines of a client.
    func add(_ client: String, _ number: Int) -> Int {
        lines.withLock { lines in
            lines[client, default: []].append(number)
            return lines[client]?.count ?? 0
        }
    }

    func all(_ client: String) -> [Int] { lines.withLock { $0[client] ?? [] } }

    /// Is answered once a file exists.
    func wait(_ path: String) async throws {
        while access(path, F_OK) != 0 { try await Task.sleep(for: .milliseconds(1)) }
    }
}

/// A service, which is this program, too.
enum Serving {
    /// Listens by a name.
    ///
    /// - Parameter ways: The name, and then: “note=PATH” to append its number to a file, “idle=MILLISECONDS” to end when it is idle,
    ///   “never” not to listen at all, “exit=STATUS” to end instead,
    ///   “again” to go on as another process.
    static func run(_ ways: [String]) async throws {
        var idle: Duration?
        for way in ways.dropFirst() {
            let words = way.split(separator: "=", maxSplits: 1).map(String.init)
            switch words[0] {
            case "note": try note(words[1])
            case "idle": idle = Int(words[1]).map { .milliseconds($0) }
            case "never": while true { pause() }
            case "exit": exit(Int32(words[1]) ?? 1)
            case "again":
                // The descriptors go on to the program in its place.
                var program = Program(arguments: ["service"] + ways.filter { $0 != "again" })
                program.descriptors = [(3, 3)]
                setenv("DISTANT_OBJECTS_DESCRIPTORS", "3:distant.lock", 1)
                try program.start()
                exit(0)
            default: fatalError("there is no way \(way)")
            }
        }
        let listener = try Listener(at: .service(ways[0]), configuration: .patient)
        if let idle { listener.closeWhenIdle(for: idle) }
        let ledger = Ledger()
        var connections: [Connection] = []
        for await connection in listener {
            connection.vend(ledger)
            connections.append(connection)
        }
        await listener.ended
        exit(0)
    }

    /// Listens at a path until it is killed.
    static func listen(at path: String) async throws {
        let listener = try Listener(at: .path(path), configuration: .patient)
        var connections: [Connection] = []
        for await connection in listener {
            connection.vend(Ledger(), as: "ledger")
            connections.append(connection)
        }
    }

    /// Connects to another machine, and waits for the end.
    ///
    /// - Parameter words: A file for the number of the process of ssh, the host, the path there, and the options of ssh.
    static func connect(_ words: [String]) async throws {
        let connection = try await Connection.open(
            .ssh(words[1], path: words[2], options: Array(words[3...])), configuration: .patientOpening)
        let file = try SystemError.check(open(words[0], O_WRONLY | O_CREAT | O_CLOEXEC, 0o600))
        _ = "\(connection.child?.pid ?? 0)\n".withCString { write(file, $0, strlen($0)) }
        close(file)
        _ = await connection.ended
    }

    private static func note(_ path: String) throws {
        let file = try SystemError.check(open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0o600))
        _ = "\(getpid())\n".withCString { write(file, $0, strlen($0)) }
        close(file)
    }

    /// Connects to the service of that name, which this program serves, and waits for the end.
    ///
    /// - Parameter ways: As for the service; “limit=MILLISECONDS” is how long it may take until it listens.
    static func start(_ ways: [String]) async throws {
        let limit = ways.lazy.compactMap { $0.hasPrefix("limit=") ? Int($0.dropFirst(6)) : nil }.first ?? 600_000
        let address = Connection.Address.service(
            ways[0], launching: CommandLine.arguments[0],
            arguments: ["service"] + ways.filter { !$0.hasPrefix("limit=") }, within: .milliseconds(limit))
        let connection = try await Connection.open(address, configuration: .patientOpening)
        _ = await connection.ended
    }
}
