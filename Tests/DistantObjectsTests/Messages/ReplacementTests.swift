import DistantObjects
import TestSupport
import Testing

/// Goes by reference; by copy if it is wrapped, or if its replacementObject(for:) says so.
private final class Badge: Vendable, ObjectCoding {
    let owner: String
    let travels: Bool

    init(owner: String, travels: Bool = false) {
        self.owner = owner
        self.travels = travels
    }

    init(coder: ObjectDecoder) throws {
        owner = try coder.decode(String.self, forKey: "owner")
        travels = try coder.decode(Bool.self, forKey: "travels")
    }

    func encode(with coder: ObjectEncoder) throws {
        try coder.encode(owner, forKey: "owner")
        try coder.encode(travels, forKey: "travels")
    }

    static var messages: MessageTable<Badge> { Message("name", Badge.name) }

    func name() -> String { owner }

    func replacementObject(for coder: PortCoder) throws -> PortReplacement? {
        if owner == "deputy" { return .reference(Badge(owner: "chief")) }
        return travels ? .copy(self) : nil
    }
}

/// Notes who gets it each time it is sent.
private final class Witness: Vendable {
    let readers = Locked<[PeerCredentials?]>([])

    static var messages: MessageTable<Witness> { Message("name") { (_: Witness) in { () -> String in "witness" } } }

    func replacementObject(for coder: PortCoder) throws -> PortReplacement? {
        readers.withLock { $0.append(coder.peer) }
        return nil
    }
}

private struct Lost: Error, Codable {
    var badge: DistantObject
}

private final class Desk: Vendable {
    let badge = Badge(owner: "desk")

    static var messages: MessageTable<Desk> {
        Message("nameOf", Desk.nameOf)
        Message("take", Desk.take)
        Message("give", Desk.give)
        Message("giveCopy", Desk.giveCopy)
        Message("giveAll", Desk.giveAll)
        Message("lose", Desk.lose)
    }

    func nameOf(_ badge: DistantObject) async throws -> String { try await badge.name() }
    func take(_ badge: Badge) -> String { "a copy of \(badge.owner)" }
    func give() -> Badge { badge }
    func giveCopy() -> ByCopy<Badge> { ByCopy(badge) }
    func giveAll() -> [String: Badge] { ["one": badge, "two": Badge(owner: "two")] }
    func lose() throws { throw Lost(badge: DistantObject(standingFor: badge)) }
}

@Suite("By copy or by reference", .bounded())
struct ReplacementTests {
    private func withDesk(_ body: (DistantObject, Connection) async throws -> Void) async throws {
        var configuration = Connection.Configuration.patient
        configuration.errorTypes = [Lost.self]
        let (client, server) = try await Connection.pair(first: configuration, second: .patient)
        server.vend(Desk())
        do { try await body(try await client.root, client) }
        await client.close()
        _ = await server.ended
        #expect(client.statistics.isAtRest && server.statistics.isAtRest)
    }

    @Test("An object of a class that is Vendable and ObjectCoding goes by reference")
    func byType() async throws {
        try await withDesk { desk, _ in
            let name: String = try await desk.nameOf(Badge(owner: "guest"))
            #expect(name == "guest")
            let badge: DistantObject = try await desk.give()
            let owner: String = try await badge.name()
            #expect(owner == "desk")
        }
    }

    @Test("ByCopy sends an argument or a result by copy, and ByReference does not ask for a replacement")
    func byPlace() async throws {
        try await withDesk { desk, _ in
            let told: String = try await desk.take(ByCopy(Badge(owner: "guest")))
            #expect(told == "a copy of guest")
            let copy: Badge = try await desk.giveCopy()
            #expect(copy.owner == "desk")
            let name: String = try await desk.nameOf(ByReference(Badge(owner: "deputy", travels: true)))
            #expect(name == "deputy")
        }
    }

    @Test("replacementObject(for:) can send another object by reference, or a copy")
    func byHook() async throws {
        try await withDesk { desk, _ in
            let name: String = try await desk.nameOf(Badge(owner: "deputy"))
            #expect(name == "chief")
            let told: String = try await desk.take(Badge(owner: "traveller", travels: true))
            #expect(told == "a copy of traveller")
        }
    }

    @Test("replacementObject(for:) can ask who gets the message")
    func readerInHook() async throws {
        try await withDesk { desk, client in
            let witness = Witness()
            let name: String = try await desk.nameOf(witness)
            #expect(name == "witness" && client.peer != nil)
            #expect(witness.readers.withLock { $0 } == [client.peer])
        }
    }

    @Test("Collections go by copy, and each element by its own rule")
    func collections() async throws {
        try await withDesk { desk, _ in
            let all: [String: DistantObject] = try await desk.giveAll()
            let one: String? = try await all["one"]?.name()
            let two: String? = try await all["two"]?.name()
            #expect(one == "desk" && two == "two")
        }
    }

    @Test("An error can carry references")
    func errorsInReplacement() async throws {
        try await withDesk { desk, _ in
            do {
                try await desk.lose()
                Issue.record("nothing was thrown")
            } catch let lost as Lost {
                let owner: String = try await lost.badge.name()
                #expect(owner == "desk")
            }
        }
    }
}
