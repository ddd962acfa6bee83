import DistantObjects
import FooBar

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Vends a directory: to the client that launched it, or to everyone who connects to a socket.
@main
struct FooBarServer {
    static let usage = """
        Usage: FooBarServer --path PATH

        Serves the FooBar example at a socket until a client stops it:
        run FooBarClient --path PATH in another terminal.
        Without arguments it is for FooBarClient, which launches it itself.
        """

    static func main() async {
        do {
            switch try path(Array(CommandLine.arguments.dropFirst())) {
            case .some(let path): try await serve(at: path)
            case .none: try await serveParent()
            }
        } catch is HelpRequest {
            Console.say(usage)
        } catch let error as UsageError {
            Console.complain("FooBarServer", "\(error)\n\n\(usage)")
            exit(2)
        } catch {
            Console.complain("FooBarServer", "\(error)")
            exit(1)
        }
    }

    private struct HelpRequest: Error {}

    private static func path(_ arguments: [String]) throws -> String? {
        switch arguments.first {
        case nil: return nil
        case "--help", "-h": throw HelpRequest()
        case "--path":
            guard arguments.count == 2 else { throw UsageError("--path needs one path after it") }
            return arguments[1]
        case let argument?: throw UsageError("“\(argument)” is not understood")
        }
    }

    /// As a helper of the process that launched this one.
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

    /// As a server of its own.
    ///
    /// Each client gets a directory to itself; any of them may stop the server.
    private static func serve(at path: String) async throws {
        let listener = try Listener(at: .path(path), configuration: .fooBar)
        Console.say("FooBarServer: listening at \(path)")
        try await withThrowingTaskGroup(of: Void.self) { clients in
            for try await connection in listener {
                let session = Session(connection) { listener.close() }
                connection.vend(["": Directory(), "session": session])
                clients.addTask {
                    do {
                        try await session.finish()
                    } catch {
                        // One client's death is not the end of the server.
                        Console.complain("FooBarServer", "\(error)")
                    }
                }
            }
        }
    }
}
