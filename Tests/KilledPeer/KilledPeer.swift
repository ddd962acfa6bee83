import DistantObjects

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// The other process of the tests that kill one side of a promised call, of a stream, or with shared bytes, and of those in
/// which a process leaves its end of a connection to another one, with three processes, with a program of an older version, or
/// that look at a process from inside.
///
/// It serves with a `Room`, to which it also sends promises, and with the other classes here. Its first argument says how it is
/// connected; without one it serves the process that launched it.
@main
struct KilledPeer {
    static func main() async throws {
        let arguments = CommandLine.arguments.dropFirst()
        switch arguments.first {
        case nil:
            var configuration = Connection.Configuration.patient
            configuration.errorTypes = [WorksError.self, Refusal.self]
            _ = await serve(try await Connection.parent(configuration: configuration)).ended
        case "crash": try await crash(Array(arguments.dropFirst()))
        case "service": try await Serving.run(Array(arguments.dropFirst()))
        case "starter": try await Serving.start(Array(arguments.dropFirst()))
        case "activated":
            _ = await serve(try await Connection.activated(configuration: .patient)).ended
        case "supervisor": try await Supervising.run(Array(arguments.dropFirst()))
        case "mute", "unvending":
            let connection =
                arguments.first == "mute" ? nil : try await Connection.parent(configuration: .patient)
            let file = try SystemError.check(open(arguments.last ?? "", O_WRONLY | O_CREAT | O_CLOEXEC, 0o600))
            _ = "\(getpid()) ".withCString { write(file, $0, strlen($0)) }
            _ = await connection?.ended
            while connection == nil { pause() }
        case "complain":
            _ = "something is wrong\n".withCString { write(2, $0, strlen($0)) }
            exit(Int32(arguments.last ?? "") ?? 0)
        case "unvended":
            _ = try await Connection.parent(configuration: .patient)
            exit(Int32(arguments.last ?? "") ?? 0)
        case "early": exit(Int32(arguments.last ?? "") ?? 0)
        case "stay", "stubborn":
            if arguments.first == "stubborn" { signal(SIGTERM, SIG_IGN) }
            _ = await serve(try await Connection.parent(configuration: .patient)).ended
            while true { pause() }
        case "leave": try Leaving.leaveClient(connectedTo: arguments.last ?? "")
        case "client":
            var configuration = Connection.Configuration.patient
            configuration.roots = roots
            _ = try await Connection.adopt(socket: 3, isInitiator: true, configuration: configuration).ended
        case "listen": try Leaving.leaveServer(at: arguments.last ?? "")
        case "server":
            let listener = try Listener(activatedAs: nil, configuration: .patient)
            if let idle = arguments.dropFirst().first.flatMap({ Int($0) }) {
                listener.closeWhenIdle(for: .milliseconds(idle))
            }
            var connections: [Connection] = []
            for await connection in listener { connections.append(serve(connection)) }
            await listener.ended
        case "path": try await Serving.listen(at: arguments.last ?? "")
        case "away": try await Serving.connect(Array(arguments.dropFirst()))
        case "tool": try await Brothers.run(over: arguments.last ?? "")
        case let role?: fatalError("there is no role \(role)")
        }
    }

    /// Serves the process that launched it with a `Crasher`.
    ///
    /// - Parameter ways: “blocked” if the main thread never notices the end, “stubborn” if SIGTERM has no effect, and a number of
    ///   milliseconds after which it closes an idle connection.
    private static func crash(_ ways: [String]) async throws {
        if ways.contains("stubborn") { signal(SIGTERM, SIG_IGN) }
        let connection = try await Connection.parent(configuration: .patient)
        connection.vend(Crasher())
        if let idle = ways.lazy.compactMap({ Int($0) }).first { connection.closeWhenIdle(for: .milliseconds(idle)) }
        if ways.contains("blocked") { while true { pause() } }
        _ = await connection.ended
    }

    private static var roots: [String: any Vendable] {
        [
            "": Room(), "spring": Spring(), "vault": Vault(), "switchboard": Switchboard(), "hog": Hog(),
            "tool": Tool(), "works": Works(), "ledger": Ledger(),
        ]
    }

    private static func serve(_ connection: Connection) -> Connection {
        connection.vend(roots)
        return connection
    }
}
