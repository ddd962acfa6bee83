import DistantObjects

/// The other process of the tests that kill one side of a promised call, of a stream, or with shared bytes, of those with
/// three processes, and of those that look at a process from inside.
///
/// It serves the process that launched it with a `Room`, to which it also sends promises, a `Spring`, a `Vault`, a
/// `Switchboard`, a `Hog` and a `Tool`.
@main
struct KilledPeer {
    static func main() async throws {
        let connection = try await Connection.parent()
        connection.vend([
            "": Room(), "spring": Spring(), "vault": Vault(), "switchboard": Switchboard(), "hog": Hog(), "tool": Tool(),
        ])
        _ = await connection.ended
    }
}
