import DistantObjects
import ExampleConsole
import FooBar

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Connects to a FooBarServer, launched or at a socket, and shows what the two can do.
@main
struct FooBarClient {
    static func main() async {
        Console.reserveDescriptors()
        do {
            let options = try Options(Array(CommandLine.arguments.dropFirst()))
            if options.wantsHelp {
                Console.say(Options.usage)
            } else {
                try await show(options)
            }
            try Console.checkOutput()
        } catch let error as UsageError {
            Console.complain("FooBarClient", error)
            exit(2)
        } catch {
            Console.complain("FooBarClient", sentence(for: error))
            exit(1)
        }
    }

    private static func show(_ options: Options) async throws {
        let connection = try await connect(options.way)
        try await Tour(
            directory: try await connection.root(as: DirectoryInterface.self), waitsAtSteps: options.waitsAtSteps
        ).run()
        try await stop(connection)
    }

    private static func connect(_ way: Options.Way) async throws -> Connection {
        switch way {
        case .socketpair:
            return try await launch(over: .socketpair, "a socketpair")
        case .pipes:
            return try await launch(over: .pipes, "its standard input and output")
        case .socket(let path):
            let connection = try await Connection.open(.path(path), configuration: .fooBar)
            Console.say("FooBarServer is found at \(path).")
            return connection
        case .service(let name):
            let address = ConnectionAddress.service(name, launching: "FooBarServer", arguments: ["--name", name])
            let connection = try await Connection.open(address, configuration: .fooBar)
            Console.say("FooBarServer is found by the name \(name).")
            return connection
        case .address(let text):
            let connection = try await Connection.open(ConnectionAddress(text), configuration: .fooBar)
            Console.say("FooBarServer is found at \(text).")
            return connection
        }
    }

    private static func launch(over transport: ChildProcess.Transport, _ words: String) async throws -> Connection {
        // The two programs are built into the same folder.
        let connection = try await Connection.launch("FooBarServer", over: transport, configuration: .fooBar)
        if let child = connection.child {
            Console.say("FooBarServer is launched over \(words) and runs as process \(child.pid).")
        }
        return connection
    }

    /// No proxy is left now.
    ///
    /// The server ends when its tables are as empty as the client's.
    private static func stop(_ connection: Connection) async throws {
        try await connection.root(named: "session", as: SessionInterface.self).stop()
        Console.say("\nThe server is asked to stop; nothing is left on either side.")
        let statistics = await connection.rest()
        Console.say("   " + statistics.tables)
        guard statistics.isAtRest else {
            throw Tour.Surprise(description: "at the end the tables hold \(statistics.tables)")
        }
        let end = await connection.ended
        guard case .closedByPeer = end else {
            throw Tour.Surprise(description: "the server did not close the connection in order (\(end))")
        }
        if let status = await connection.child?.waitForExit(), status != .exited(0) {
            throw Tour.Surprise(description: "the server ended with \(status)")
        }
    }

    private static func sentence(for error: any Error) -> String {
        guard let error = error as? ConnectionError else { return "\(error)" }
        switch error.code {
        case .outcomeUnknown, .notDelivered, .notSent, .closed:
            return "the server has ended in the middle of our talk (\(error))"
        default:
            return "\(error)"
        }
    }
}
