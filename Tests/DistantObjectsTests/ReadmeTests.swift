import DistantObjects
import Synchronization
import Testing

// The sample of README.md, so that it cannot stop being true.
private final class Ages: Vendable {
    private let ages = Mutex<[String: Int]>([:])
    static var messages: MessageTable<Ages> { Message("add", Ages.add) }
    func add(_ person: Person) -> Int {
        ages.withLock { ages in
            ages[person.name] = person.age
            return ages.count
        }
    }
}

private struct Person: Codable {
    var name: String
    var age: Int
}

@Suite("README")
struct ReadmeTests {
    @Test("The sample works as it is written")
    func sample() async throws {
        let place = try Place()
        let listener = try Listener(at: .path(place.socket))
        let receiver = Task {
            let directory = Ages()
            for try await connection in listener { connection.vend(directory) }
        }
        let connection = try await Connection.open(.path(place.socket))
        let directory = try await connection.root
        let count: Int = try await directory.add(Person(name: "Juliana", age: 7))
        #expect(count == 1)
        await connection.close()
        listener.close()
        try await receiver.value
    }
}
