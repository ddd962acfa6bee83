import DistantObjects
import Testing

@Suite("Names of connections and proxies as keys", .bounded())
struct NameTests {
    @Test("A connection has the name its configuration gives, whatever it is, or else that of the place")
    func names() async throws {
        let place = try Place()
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

    @Test("Proxies are keys: one for each object, at home or away")
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
