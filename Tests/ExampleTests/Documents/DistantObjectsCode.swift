// swift-format-ignore-file
// It is laid out as DistantObjects.md shows it.

import DistantObjects

/// The code of DistantObjects.md.
enum DistantObjectsCode {
    // DistantObjects.md: class
    final class Greeter: Vendable {
        static var messages: MessageTable<Greeter> {
            Message("greet", Greeter.greet)
        }

        func greet(_ name: String) -> String { "Hello, \(name)" }
    }
    // end

    static func serve(at path: String) async throws {
        // DistantObjects.md: serve
        for await connection in try Listener(at: .path(path)) { connection.vend(Greeter()) }
        // end
    }

    static func call(at path: String) async throws -> String {
        // DistantObjects.md: call
        let connection = try await Connection.open(.path(path))
        let greeting: String = try await connection.root.greet("Ada")
        await connection.close()
        // end
        return greeting
    }
}
