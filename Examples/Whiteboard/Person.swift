import DistantObjects
import WhiteboardValues

/// A launched client.
struct Person {
    let name: String
    let connection: Connection
    let client: Remote<ClientInterface>

    static func launch(_ name: String, _ path: String) async throws -> Person {
        let connection = try await Connection.launch(
            "whiteboard-client", arguments: [path, name], configuration: .whiteboard)
        return Person(
            name: name, connection: connection, client: try await connection.root(as: ClientInterface.self))
    }

    func close() async throws { try await Self.close(connection) }

    /// Closes the connection to a process, which ends it, and checks that nothing is left.
    static func close(_ connection: Connection) async throws {
        await connection.close(timeout: Patience.limit)
        let status = await connection.child?.waitForExit()
        guard case .exited(0)? = status else {
            throw WhiteboardError("\(connection.name) has ended with \(status.map { "\($0)" } ?? "no status")")
        }
        guard connection.statistics.isAtRest else {
            throw WhiteboardError("something is left: \(connection.statistics)")
        }
    }
}
