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

@Suite("README", .bounded())
struct ReadmeTests {
    @Test("The sample works as it is written")
    func sample() async throws {
        let place = try Place()
        let directory = Ages()
        let receiver = Task {
            for try await connection in try Listener(at: .path(place.socket)) { connection.vend(directory) }
        }
        try await send(place)
        receiver.cancel()
        try await receiver.value
    }

    private func send(_ place: Place) async throws {
        let connection = try await Connection.open(.path(place.socket), waitingUpTo: Patience.wait)
        let directory = try await connection.root
        let count: Int = try await directory.add(Person(name: "Juliana", age: 7))
        #expect(count == 1)
        await connection.close()
    }
}
