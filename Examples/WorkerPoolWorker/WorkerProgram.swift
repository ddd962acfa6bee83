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
        do {
            let connection = try await Connection.parent()
            try connection.vend(Worker())
            _ = await connection.ended
        } catch {
            Console.complain("workerpool-worker", "\(error); WorkerPool launches this program")
            exit(1)
        }
    }
}
