// swift-format-ignore-file
// It is laid out as DistantObjects.md shows it.

import DistantObjects

/// The code of DistantObjects.md.
enum DistantObjectsCode {
    // DistantObjects.md: interface
    struct GreeterInterface: Interface {
        let greet = Signature<String, String>("greet")      // the result, then the arguments
    }
    // end

    // DistantObjects.md: class
    final class Greeter: Vendable, Implements {
        typealias I = GreeterInterface

        static var messages: MessageTable<Greeter> {
            Message(\I.greet, Greeter.greet)
        }

        func greet(_ name: String) -> String { "Hello, \(name)" }
    }
    // end

    static func serve(at path: String) async throws {
        // DistantObjects.md: serve
        for await connection in try Listener(at: .path(path)) { try connection.vend(Greeter()) }
        // end
    }

    static func call(at path: String) async throws -> String {
        // DistantObjects.md: call
        let connection = try await Connection.open(.path(path))
        let greeter = try await connection.root(as: GreeterInterface.self)
        let greeting = try await greeter.greet("Ada")
        await connection.close()
        // end
        return greeting
    }

    static func callDynamically(_ connection: Connection) async throws -> String {
        // DistantObjects.md: dynamic call
        let greeting: String = try await connection.root.greet("Ada")
        // end
        return greeting
    }
}
