import DistantObjects
import ExampleConsole
import WorkerPoolValues

/// A launched worker.
struct WorkerProcess {
    let connection: Connection
    let remote: Remote<WorkerInterface>

    init(_ connection: Connection) async throws {
        self.connection = connection
        remote = try await connection.root(as: WorkerInterface.self)
    }

    /// Launches a worker, and another if that dies at once.
    ///
    /// A program that cannot be started, or dies each time, is an error.
    static func launch(_ number: Int) async throws -> WorkerProcess {
        for _ in 1..<3 {
            do { return try await launchOnce(number) } catch let error as ConnectionError
                where error.code != .transport
            {
                sayItDied(number, error)
            }
        }
        return try await launchOnce(number)
    }

    static func sayItDied(_ number: Int, _ error: ConnectionError) {
        Console.say("worker \(number) has died (\(error.code)); a new one takes its place")
    }

    private static func launchOnce(_ number: Int) async throws -> WorkerProcess {
        let worker = try await WorkerProcess(Connection.launch("workerpool-worker"))
        Console.say("worker \(number) runs as process \(worker.connection.child?.pid ?? 0)")
        return worker
    }

    /// Closes the connection, which ends the process, and checks that nothing is left.
    func close() async throws {
        await connection.close()
        _ = await connection.child?.waitForExit()
        guard connection.statistics.isAtRest else { throw PoolError("something is left: \(connection.statistics)") }
    }
}
