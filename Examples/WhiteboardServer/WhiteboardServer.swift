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
        guard CommandLine.arguments.count == 2 else {
            Console.complain("whiteboard-server", "Whiteboard launches this program, with the path of a socket")
            exit(2)
        }
        do {
            try await serve(at: CommandLine.arguments[1])
        } catch {
            Console.complain("whiteboard-server", "\(error)")
            exit(1)
        }
    }

    private static func serve(at path: String) async throws {
        let board = Board()
        let listener = try Listener(at: .path(path))
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
        let parent = try await Connection.parent()
        try parent.vend(board)
        _ = await parent.ended
        listener.close()
        await serving.value
        Console.say("the server has ended, every table is empty")
    }
}
