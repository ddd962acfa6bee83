import DistantObjects
import ExampleConsole
import WhiteboardValues

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// One person at the whiteboard, who does what the process that has launched it asks for.
@main
struct WhiteboardClient {
    static func main() async {
        signal(SIGPIPE, SIG_IGN)
        guard CommandLine.arguments.count == 3 else {
            Console.complain("whiteboard-client", "Whiteboard launches this program, with a socket and a name")
            exit(2)
        }
        do {
            try await draw(at: CommandLine.arguments[1], as: CommandLine.arguments[2])
        } catch {
            Console.complain("whiteboard-client", "\(error)")
            exit(1)
        }
    }

    private static func draw(at path: String, as name: String) async throws {
        let view = View()
        let connection = try await Connection.open(.path(path), waitingUpTo: .seconds(5))
        let board = try await connection.root(as: BoardInterface.self)
        let pen = try await board.join(name, Remote(vending: Observer(view)))
        let watching = Task {
            for try await stroke in try await board.strokes() {
                view.change { $0.strokes[stroke.person, default: 0] += 1 }
            }
        }
        let parent = try await Connection.parent()
        try parent.vend(Client(pen, view))
        // Without the whiteboard there is nothing left to do: whatever the parent waits for fails.
        board.onEnd { _ in parent.invalidate() }
        _ = await parent.ended
        watching.cancel()
        await connection.close()
    }
}
