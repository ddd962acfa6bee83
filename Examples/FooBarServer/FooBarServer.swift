import DistantObjects
import ExampleConsole
import FooBar

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Vends a directory to the client that launched it, or to clients that connect to a socket.
@main
struct FooBarServer {
    static let usage = """
        Usage: FooBarServer --path PATH | --name NAME | --activated

        Serves the FooBar example at a socket until a client stops it:
        run FooBarClient --path PATH in another terminal, or with --name NAME.
        With --activated it serves at the socket that a service manager such as systemd has opened.
        Without arguments it is for FooBarClient, which launches it itself.
        """

    static func main() async {
        Console.reserveDescriptors()
        // The server goes on if its output is closed.
        signal(SIGPIPE, SIG_IGN)
        do {
            switch try way(Array(CommandLine.arguments.dropFirst())) {
            case .address(let address): try await serve(try Listener(at: address, configuration: .fooBar))
            case .activated: try await serve(try Listener(activatedAs: nil, configuration: .fooBar))
            case .parent: try await serveParent()
            case .help:
                Console.say(usage)
                try Console.checkOutput()
            }
        } catch let error as UsageError {
            Console.complain("FooBarServer", error)
            exit(2)
        } catch {
            Console.complain("FooBarServer", "\(error)")
            exit(1)
        }
    }

    private enum Way {
        case help
        case parent
        case address(ConnectionAddress)
        case activated
    }

    private static func way(_ arguments: [String]) throws -> Way {
        try UsageError.check(arguments)
        if UsageError.asksForHelp(arguments) { return .help }
        switch arguments.first {
        case nil: return .parent
        case "--path":
            guard arguments.count == 2 else { throw UsageError("--path needs one path after it") }
            return .address(.path(arguments[1]))
        case "--name":
            guard arguments.count == 2 else { throw UsageError("--name needs one name after it") }
            return .address(.service(arguments[1]))
        case "--activated":
            guard arguments.count == 1 else { throw UsageError("nothing follows --activated") }
            return .activated
        case let argument?: throw UsageError("“\(argument)” is not understood")
        }
    }

    /// Runs as a helper of the process that launched this one.
    private static func serveParent() async throws {
        let connection: Connection
        do {
            connection = try await Connection.parent(configuration: .fooBar)
        } catch let error as ConnectionError where error.code == .transport {
            throw UsageError("nobody has launched this server with a connection; give it a path to serve at")
        }
        let session = Session(connection)
        connection.vend(["": Directory(), "session": session])
        try await session.finish()
    }

    /// Runs as a server at a socket.
    ///
    /// Each client gets a separate directory. Any of them may stop the server.
    private static func serve(_ listener: Listener) async throws {
        Console.say("FooBarServer: listening at \(listener.address)")
        // A discarding group, because a server can have any number of clients.
        try await withThrowingDiscardingTaskGroup { clients in
            for await connection in listener {
                let session = Session(connection) { listener.close() }
                connection.vend(["": Directory(), "session": session])
                clients.addTask {
                    do {
                        try await session.finish()
                    } catch {
                        // The server goes on if a client dies.
                        Console.complain("FooBarServer", "\(error)")
                    }
                }
            }
        }
    }
}
