import DistantObjects
import TestSupport
import Testing

@Suite("Connection names, and proxies as dictionary keys", .bounded())
struct NameTests {
    @Test("A connection has the configured name, or else its address")
    func namesInName() async throws {
        let place = try TemporaryFolder()
        var configuration = Connection.Configuration.patient
        let listener = try Listener(at: .path(place.socket), configuration: configuration)
        defer { listener.close() }
        let unnamed = try await Connection.open(.path(place.socket), configuration: configuration)
        #expect(unnamed.name == place.socket)
        configuration.name = "connection"
        let named = try await Connection.open(.path(place.socket), configuration: configuration)
        #expect(named.name == "connection")
        unnamed.invalidate()
        named.invalidate()
    }

    @Test("Proxies for one object are equal, in its own process and in another")
    func hashable() async throws {
        let pair = try await Pair()
        do {
            let first = try await pair.client.root
            let again = try await pair.client.root
            let other: DistantObject = try await first.fresh()
            let home = Observer()
            let local = DistantObject(standingFor: home)
            var notes: [DistantObject: String] = [first: "first", other: "other", local: "local"]
            notes[again, default: ""] += ", again"
            notes[DistantObject(standingFor: home), default: ""] += ", again"
            #expect(notes.count == 3)
            #expect(notes[first] == "first, again" && notes[other] == "other" && notes[local] == "local, again")
        }
        try await pair.rest()
        await pair.close()
    }
}
