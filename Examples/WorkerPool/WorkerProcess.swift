import DistantObjects
import ExampleConsole
import WorkerPoolValues

/// A launched worker.
struct WorkerProcess {
    let connection: Connection
    let remote: Remote<WorkerInterface>

    static func launch(_ number: Int) async throws -> WorkerProcess {
        let connection = try await Connection.launch("workerpool-worker")
        let remote = try await connection.root(as: WorkerInterface.self)
        Console.say("worker \(number) runs as process \(connection.child?.pid ?? 0)")
        return WorkerProcess(connection: connection, remote: remote)
    }

    /// Closes the connection, which ends the process, and checks that nothing is left.
    func close() async throws {
        await connection.close()
        _ = await connection.child?.waitForExit()
        guard connection.statistics.isAtRest else { throw PoolError("something is left: \(connection.statistics)") }
    }
}
