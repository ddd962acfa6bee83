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
        let arguments = Array(CommandLine.arguments.dropFirst())
        if UsageError.asksForHelp(arguments) {
            return Console.say(
                "Usage: whiteboard-client PATH NAME\n\nWhiteboard launches this program, with the path of a socket and a name."
            )
        }
        do {
            guard arguments.count == 2, !arguments.contains(where: { $0.hasPrefix("-") }) else {
                throw UsageError("Whiteboard launches this program, with the path of a socket and a name")
            }
            try await draw(at: arguments[0], as: arguments[1])
        } catch let error as UsageError {
            Console.complain("whiteboard-client", error)
            exit(2)
        } catch {
            Console.complain("whiteboard-client", "\(error)")
            exit(1)
        }
    }

    private static func draw(at path: String, as name: String) async throws {
        let view = View()
        let connection = try await Connection.open(
            .path(path), timeout: Patience.limit, configuration: .whiteboard)
        let board = try await connection.root(as: BoardInterface.self)
        let pen = try await board.join(name, Remote(vending: Observer(view)))
        let watching = Task {
            for try await stroke in try await board.strokes() {
                view.change { $0.strokes[stroke.person, default: 0] += 1 }
            }
        }
        let parent = try await Connection.parent(configuration: .whiteboard)
        try parent.vend(Client(pen, view))
        // Without the whiteboard there is nothing left to do: whatever the parent waits for fails.
        board.onEnd { _ in parent.invalidate() }
        _ = await parent.ended
        watching.cancel()
        await connection.close(timeout: Patience.limit)
    }
}
