// swift-format-ignore-file
// It is laid out as README.md shows it.

// README.md: shared
import DistantObjects
// end
// README.md: receiver
import Synchronization
// end

/// The code of README.md: `DocumentTests` compares the two, `ReadmeTests` runs it.
enum ReadmeCode {
    // README.md: shared
    struct DirectoryInterface: Interface {
        let add = Signature<Int, Person>("add")             // the result, then the arguments
    }
    struct Person: Codable { var name: String; var age: Int }
    // end

    // README.md: receiver
    final class Directory: Vendable, Implements {           // by reference: it stays here
        typealias I = DirectoryInterface
        static var messages: MessageTable<Directory> { Message(\I.add, Directory.add) }
        private let ages = Mutex<[String: Int]>([:])
        func add(_ person: Person) -> Int {                 // by copy: any Codable, and graphs of ObjectCoding classes
            ages.withLock { $0[person.name] = person.age; return $0.count }
        }
    }
    // end

    static func receive() async throws {
        // README.md: receiver
        let directory = Directory()
        for await connection in try Listener(at: .path("directory.sock")) { try connection.vend(directory) }
        // end
    }

    static func send() async throws -> Int {
        // README.md: sender
        let connection = try await Connection.open(.path("directory.sock"))
        let directory = try await connection.root(as: DirectoryInterface.self)
        let count = try await directory.add(Person(name: "Juliana", age: 7))       // an Int: the compiler checks it
        await connection.close()
        // end
        return count
    }
}
