import DistantObjects

/// The other process of the tests that kill one side of a promised call or of a stream.
///
/// It serves the process that launched it with a `Room`, to which it also sends promises, and a `Spring`.
@main
struct KilledPeer {
    static func main() async throws {
        let connection = try await Connection.parent()
        connection.vend(["": Room(), "spring": Spring()])
        _ = await connection.ended
    }
}
