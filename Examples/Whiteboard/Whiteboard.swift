import DistantObjects
import ExampleConsole
import WhiteboardValues

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Several people draw on one whiteboard, each in a process of its own, and one of them dies.
@main
struct Whiteboard {
    static let usage = """
        Usage: Whiteboard

        Launches a server with a whiteboard, and three clients that draw on it. Each client sees all strokes as a
        stream. One client is killed, and the whiteboard notifies the others.
        """

    static func main() async {
        Console.reserveDescriptors()
        signal(SIGPIPE, SIG_IGN)
        do {
            let arguments = Array(CommandLine.arguments.dropFirst())
            try UsageError.check(arguments)
            if UsageError.asksForHelp(arguments) {
                Console.say(usage)
            } else if let argument = arguments.first {
                throw UsageError("“\(argument)” is not understood")
            } else {
                try await run()
            }
            try Console.checkOutput()
        } catch let error as UsageError {
            Console.complain("Whiteboard", error)
            exit(2)
        } catch {
            Console.complain("Whiteboard", "\(error)")
            exit(1)
        }
    }

    private static func run() async throws {
        var template = Array("/tmp/whiteboard-XXXXXX".utf8CString)
        guard let folder = mkdtemp(&template).map({ String(cString: $0) }) else {
            throw WhiteboardError("no folder can be made for the socket")
        }
        let path = folder + "/socket"
        defer {
            // The server removes its socket and the lock beside it, unless it was killed.
            for file in [path, folder + "/.socket.distant-lock"] { unlink(file) }
            rmdir(folder)
        }

        // What the server says belongs to the output of this program.
        var options = ChildProcess.Options()
        options.standardOutput = 1
        let server = try await Connection.launch(
            "whiteboard-server", arguments: [path], options: options, configuration: .whiteboard)
        let board = try await server.root(as: BoardInterface.self)
        var people: [Person] = []
        for name in ["Ada", "Ben", "Cleo"] { people.append(try await Person.launch(name, path)) }
        Console.say("at the whiteboard: \(try await board.people().joined(separator: ", "))")

        for person in people { try await person.client.draw(5) }
        for person in people {
            let seen = try await person.client.seen(15)
            Console.say(
                "\(person.name) sees \(seen.sorted { $0.key < $1.key }.map { "\($0.value) strokes of \($0.key)" }.joined(separator: ", "))"
            )
        }

        let ben = people.remove(at: 1)
        ben.connection.child?.kill()
        for person in people { try await person.client.noticed("Ben") }
        _ = await ben.connection.ended
        Console.say("Ben was killed; at the whiteboard: \(try await board.people().joined(separator: ", "))")

        // A late client gets what was drawn before, that of the dead included.
        people.append(try await Person.launch("Dora", path))
        try await people[2].client.draw(1)
        for person in people { _ = try await person.client.seen(16) }
        Console.say("all have seen 16 strokes")
        for person in people { try await person.close() }
        try await Person.close(server)
    }
}
