// ComingFromJSON.md: worker
import DistantObjects
import Formatting
import Foundation

@main
struct Worker {
    static func main() async {
        if CommandLine.arguments.contains("--verbose") { print("the worker has started") }
        do {
            let connection = try await Connection.parent()
            try connection.vend(SourceFormatter())
            _ = await connection.ended
        } catch {
            FileHandle.standardError.write(Data("formatter-worker: \(error)\n".utf8))
            exit(1)
        }
    }
}
// end
