import DistantObjects
import ExampleConsole

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Vends a worker to the pool that has launched this process, and lives as long as the connection.
@main
struct WorkerProgram {
    static func main() async {
        signal(SIGPIPE, SIG_IGN)
        let arguments = Array(CommandLine.arguments.dropFirst())
        if UsageError.asksForHelp(arguments) {
            return Console.say("Usage: workerpool-worker\n\nWorkerPool launches this program.")
        }
        do {
            if let word = arguments.first { throw UsageError("“\(word)” is not understood") }
            let connection = try await Connection.parent()
            try connection.vend(Worker())
            _ = await connection.ended
        } catch let error as UsageError {
            Console.complain("workerpool-worker", error)
            exit(2)
        } catch {
            Console.complain("workerpool-worker", "\(error); WorkerPool launches this program")
            exit(1)
        }
    }
}
