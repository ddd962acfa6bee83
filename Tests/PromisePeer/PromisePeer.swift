import DistantObjects

/// The other process of the tests that kill one side of a promised call.
///
/// It serves the process that launched it with a `Room`, and sends it promises.
@main
struct PromisePeer {
    static func main() async throws {
        let connection = try await Connection.parent()
        connection.vend(Room())
        _ = await connection.ended
    }
}
