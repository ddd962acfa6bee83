// ComingFromJSON.md: both
import DistantObjects
import Formatting

@main
struct Worker {
    // Reading blocks the main thread, and no thread of the tasks.
    @MainActor
    static func main() async throws {
        // A tool that speaks JSON alone gives it no connection.
        let connection = try? await Connection.parent()
        try connection?.vend(SourceFormatter())
        JSONService().serve()
        _ = await connection?.ended
    }
}
// end
