// swift-format-ignore-file
// It is laid out as README.md shows it.

// README.md: receiver
import DistantObjects
import Synchronization
// end

/// The code of README.md. `DocumentTests` compares the two, and `ReadmeTests` runs it.
enum ReadmeCode {
    // README.md: receiver
    final class Directory: Vendable {                       // by reference: it stays here
        private let ages = Mutex<[String: Int]>([:])
        static var messages: MessageTable<Directory> { Message("add", Directory.add) }
        func add(_ person: Person) -> Int {                 // by copy: any Codable, and graphs of ObjectCoding classes
            ages.withLock { $0[person.name] = person.age; return $0.count }
        }
    }
    struct Person: Codable { var name: String; var age: Int }
    // end

    static func receive() async throws {
        // README.md: receiver
        let directory = Directory()
        for await connection in try Listener(at: .path("directory.sock")) { connection.vend(directory) }
        // end
    }

    static func send() async throws -> Int {
        // README.md: sender
        let connection = try await Connection.open(.path("directory.sock"))
        let directory = try await connection.root               // a DistantObject
        let count: Int = try await directory.add(Person(name: "Juliana", age: 7))
        await connection.close()
        // end
        return count
    }
}
