import DistantObjects
import TestSupport
import Testing

private enum Harbor {
    enum Failure: Error, Codable, Equatable { case full(berths: Int) }
}

private enum Crane {
    /// Of the same name as that of the harbor, with the same content in an archive.
    enum Failure: Error, Codable, Equatable { case full(berths: Int) }
}

private enum Storm: Error, Codable, Equatable { case near(miles: Int) }

private struct SeaInterface: Interface {
    let sail = Signature<Int, Int>("sail")
    static var errors: [any (Error & Codable).Type] { [Storm.self] }
}

private struct HarborInterface: Extending {
    typealias Base = SeaInterface
    let moor = Signature<Int, Int>("moor")
    let ships = Signature<DistantStream<Int>, Int>("ships")
    let unload = Signature<String, DistantStream<Int>>("unload")
    let crane = Signature<Remote<CraneInterface>>("crane")
    let noCrane = Signature<Remote<CraneInterface>, Int>("noCrane")
    static var errors: [any (Error & Codable).Type] { [Harbor.Failure.self] }
}

private struct CraneInterface: Interface {
    let lift = Signature<Int, Int>("lift")
    static var errors: [any (Error & Codable).Type] { [Crane.Failure.self] }
}

private final class HarborObject: Vendable, Implements {
    typealias I = HarborInterface
    static var messages: MessageTable<HarborObject> {
        Message(\SeaInterface.sail, HarborObject.sail)
        Message(\I.moor, HarborObject.moor)
        Message(\I.ships, HarborObject.ships)
        Message(\I.unload, HarborObject.unload)
        Message(\I.crane, HarborObject.crane)
        Message(\I.noCrane, HarborObject.noCrane)
    }

    func sail(_ miles: Int) throws -> Int { throw Storm.near(miles: miles) }
    func moor(_ berths: Int) throws -> Int { throw Harbor.Failure.full(berths: berths) }
    /// Says which error ended the caller's stream.
    func unload(_ cargo: DistantStream<Int>) async throws -> String {
        do {
            for try await _ in cargo {}
            return "none"
        } catch { return "\(type(of: error)): \(error)" }
    }
    func crane() -> CraneObject { CraneObject() }
    func noCrane(_ berths: Int) throws -> CraneObject { throw Harbor.Failure.full(berths: berths) }
    /// One ship, and then the failure.
    func ships(_ berths: Int) -> DistantStream<Int> {
        DistantStream { writer in
            try await writer.send(1)
            throw Harbor.Failure.full(berths: berths)
        }
    }
}

private final class CraneObject: Vendable, Implements {
    typealias I = CraneInterface
    static var messages: MessageTable<CraneObject> { Message(\I.lift, CraneObject.lift) }
    func lift(_ berths: Int) throws -> Int { throw Crane.Failure.full(berths: berths) }
}

@Suite("Errors that an interface lists", .bounded())
struct InterfaceErrorTests {
    /// A way to get a remote whose configuration lists no error.
    enum Way: CaseIterable { case sockets, pipes, local }

    private func harbor(_ way: Way) async throws -> (Remote<HarborInterface>, Pair?) {
        if way == .local { return (Remote(local: HarborObject(), configuration: .patient), nil) }
        let pair = try await Pair(over: way == .pipes ? .pipes : .socketpair)
        try pair.server.vend(HarborObject(), as: "harbor")
        return (try await pair.client.root(named: "harbor", as: HarborInterface.self), pair)
    }

    @Test("Each way to call throws them as the method did", arguments: Way.allCases)
    func calls(_ way: Way) async throws {
        let (harbor, pair) = try await harbor(way)
        for berths in 1...3 {
            await #expect(throws: Harbor.Failure.full(berths: berths)) { try await harbor.moor(berths) }
            await #expect(throws: Harbor.Failure.full(berths: berths)) {
                try await onThread { try harbor.moor.blocking(berths) }
            }
            await #expect(throws: Storm.near(miles: berths)) { try await harbor.sail(berths) }
            await #expect(throws: Harbor.Failure.full(berths: berths)) {
                for try await ship in try await harbor.ships(berths) { #expect(ship == 1) }
            }
            await #expect(throws: Harbor.Failure.full(berths: berths)) { try await harbor.noCrane(berths) }
        }
        await pair?.client.close()
    }

    @Test("An interface goes before others that list an error of the same name", arguments: Way.allCases)
    func sameName(_ way: Way) async throws {
        let (harbor, pair) = try await harbor(way)
        let crane = try await harbor.crane()
        for berths in 1...3 {
            await #expect(throws: Crane.Failure.full(berths: berths)) { try await crane.lift(berths) }
            await #expect(throws: Harbor.Failure.full(berths: berths)) { try await harbor.moor(berths) }
        }
        await pair?.client.close()
    }

    @Test("A stream's error whose name is not clear is a RemoteError that says so")
    func ambiguousInStream() async throws {
        let (harbor, pair) = try await harbor(.sockets)
        await #expect(throws: Crane.Failure.full(berths: 2)) { try await harbor.crane().lift(2) }
        let error = await #expect(throws: RemoteError.self) {
            for try await _ in try await harbor.ships(2) {}
        }
        #expect(error?.typeName == "Failure" && error?.decodingFailure?.contains("different types") == true)
        await pair?.client.close()
    }

    @Test("The configuration decides what a stream's error is")
    func configurationDecides() async throws {
        var configuration = Connection.Configuration.patient
        configuration.errorTypes = [Harbor.Failure.self]
        let pair = try await Pair(client: configuration)
        try pair.server.vend(HarborObject(), as: "harbor")
        let harbor = try await pair.client.root(named: "harbor", as: HarborInterface.self)
        await #expect(throws: Crane.Failure.full(berths: 2)) { try await harbor.crane().lift(2) }
        await #expect(throws: Harbor.Failure.full(berths: 2)) {
            for try await _ in try await harbor.ships(2) {}
        }
        await pair.client.close()
    }

    @Test("A stream that the caller sends fails with them, too", arguments: Way.allCases)
    func callersStream(_ way: Way) async throws {
        let (harbor, pair) = try await harbor(way)
        let cargo = DistantStream<Int> { writer in
            try await writer.send(1)
            throw Harbor.Failure.full(berths: 3)
        }
        let failure = Harbor.Failure.full(berths: 3)
        #expect(try await harbor.unload(cargo) == "\(type(of: failure)): \(failure)")
        await pair?.client.close()
    }

    @Test("Without an interface they arrive as RemoteError")
    func withoutInterface() async throws {
        let pair = try await Pair()
        pair.server.vend(HarborObject() as any Vendable, as: "harbor")
        let harbor = try await pair.client.root(named: "harbor")
        await #expect(throws: RemoteError.self) { let _: Int = try await harbor.moor(1) }
        await pair.client.close()
    }
}
