import DistantObjects
import ExampleConsole
import WhiteboardValues

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Serves a whiteboard to clients at a socket, until the process that has launched it is done.
@main
struct WhiteboardServer {
    static func main() async {
        signal(SIGPIPE, SIG_IGN)
        let arguments = Array(CommandLine.arguments.dropFirst())
        if UsageError.asksForHelp(arguments) {
            return Console.say(
                "Usage: whiteboard-server PATH\n\nWhiteboard launches this program, with the path of a socket.")
        }
        do {
            guard arguments.count == 1, !arguments[0].hasPrefix("-") else {
                throw UsageError("Whiteboard launches this program, with the path of a socket")
            }
            try await serve(at: arguments[0])
        } catch let error as UsageError {
            Console.complain("whiteboard-server", error)
            exit(2)
        } catch {
            Console.complain("whiteboard-server", "\(error)")
            exit(1)
        }
    }

    private static func serve(at path: String) async throws {
        // Nothing is made for a user who has started this program by hand.
        let parent = try await Connection.parent(configuration: .whiteboard)
        let board = Board()
        let listener = try Listener(at: .path(path), configuration: .whiteboard)
        let serving = Task {
            await withDiscardingTaskGroup { clients in
                for await connection in listener {
                    try? connection.vend(board)
                    clients.addTask {
                        _ = await connection.ended
                        if !connection.statistics.isAtRest {
                            Console.complain("whiteboard-server", "something is left: \(connection.statistics)")
                        }
                    }
                }
            }
        }
        try parent.vend(board)
        _ = await parent.ended
        listener.close(timeout: Patience.limit)
        await serving.value
        Console.say("the server has ended, every table is empty")
    }
}
