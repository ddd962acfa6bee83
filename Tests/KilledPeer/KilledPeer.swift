import DistantObjects

/// The other process of the tests that kill one side of a promised call, of a stream, or with shared bytes, and of those
/// with three processes.
///
/// It serves the process that launched it with a `Room`, to which it also sends promises, a `Spring`, a `Vault` and a
/// `Switchboard`.
@main
struct KilledPeer {
    static func main() async throws {
        let connection = try await Connection.parent()
        connection.vend(["": Room(), "spring": Spring(), "vault": Vault(), "switchboard": Switchboard()])
        _ = await connection.ended
    }
}
