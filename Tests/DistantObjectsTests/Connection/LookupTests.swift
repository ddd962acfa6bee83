import DistantObjects
import Synchronization
import TestSupport
import Testing

private struct ShopInterface: Interface {
    let price = Signature<Int, String>("price")
    let buy = Signature<Void, String>("buy")
}

private final class Shop: Vendable, Implements {
    typealias I = ShopInterface

    static var messages: MessageTable<Shop> {
        Message(\I.price) { (_: Shop) in { (_: String) in 7 } }
        Message(\I.buy) { (_: Shop) in { (_: String) in } }
    }
}

/// A class that forgets a message of its interface, so that it cannot be vended.
private final class HalfShop: Vendable, Implements {
    typealias I = ShopInterface

    static var messages: MessageTable<HalfShop> {
        Message(\I.price) { (_: HalfShop) in { (_: String) in 7 } }
    }
}

@Suite("A root that is not there yet", .bounded())
struct LookupTests {
    /// The configuration of tests with the second that users have.
    private static var asking: Connection.Configuration {
        var configuration = Connection.Configuration.patient
        configuration.lookupPatience = Connection.Configuration().lookupPatience
        return configuration
    }

    @Test("After a second both sides learn that a look-up waits, and a slow start succeeds all the same")
    func slowInLookup() async throws {
        let (atClient, atServer) = (Signal(), Signal())
        let names = Names()
        var (first, second) = (Self.asking, Connection.Configuration.patient)
        first.onEvent = { event in
            guard event.code == .lookupWaits else { return }
            names.append(event.name)
            atClient.send()
        }
        second.onEvent = { if $0.code == .lookupWaits, $0.name == nil { atServer.send() } }
        let (client, server) = try await Connection.pair(first: first, second: second)
        let looking = Task { try await client.root(named: "shop", as: ShopInterface.self).price("tea") }
        await atClient.wait()
        await atServer.wait()
        #expect(names.all == ["shop"])
        try server.vend(Shop(), as: "shop")
        #expect(try await looking.value == 7)
        await client.close()
    }

    /// A look-up, and how it is made.
    private enum Kind: CaseIterable, Sendable {
        case root, blockingRoot, names, blockingNames

        func run(on client: Connection, _ timeout: Duration) async throws {
            switch self {
            case .root: _ = try await client.root(named: "", timeout: timeout)
            case .blockingRoot: _ = try await onThread { try client.blockingRoot(timeout: timeout) }
            case .names: _ = try await client.rootNames(timeout: timeout)
            case .blockingNames: _ = try await onThread { try client.blockingRootNames(timeout: timeout) }
            }
        }
    }

    @Test("The error of a look-up that has waited to its end says that nothing is vended", arguments: Kind.allCases)
    private func never(kind: Kind) async throws {
        let (client, server) = try await Connection.pair(first: Self.asking, second: .patient)
        var limit = Duration.seconds(2)
        while true {
            let deadline = limit
            let error = await #expect(throws: ConnectionError.self) { try await kind.run(on: client, deadline) }
            #expect(error?.code == .deadlineExceeded)
            if error?.message == "no answer came within \(deadline): the peer has not vended anything yet" { break }
            // On a busy machine the question takes longer.
            limit *= 2
        }
        await client.close()
        _ = await server.ended
    }

    @Test("A vend that throws refuses those who wait and those who come later, with its reason, until one succeeds")
    func failedInLookup() async throws {
        let waits = Signal()
        var configuration = Self.asking
        configuration.onEvent = { if $0.code == .lookupWaits { waits.send() } }
        let (client, server) = try await Connection.pair(first: configuration, second: .patient)
        let looking = Task { _ = try await client.root }
        let other = Task { _ = try await client.root(named: "other") }
        await waits.wait(for: 2)
        #expect(throws: ConnectionError.self) { try server.vend(HalfShop()) }
        let later = Task { _ = try await client.root }
        for task in [looking, later] {
            let error = await #expect(throws: ConnectionError.self) { try await task.value }
            #expect(error?.code == .noSuchRoot && error?.isSafeToRetry == true)
            let text = error?.message ?? ""
            #expect(
                text.hasPrefix(
                    "the peer could not vend its root object: HalfShop does not answer what ShopInterface asks: "),
                "\(text)")
            #expect(text.contains("buy(String) -> Void is missing"), "\(text)")
        }
        // Another root is still waited for.
        try server.vend(Shop(), as: "other")
        try await other.value
        try server.vend(Shop())
        #expect(try await client.root(as: ShopInterface.self).price("tea") == 7)
        await client.close()
    }

    /// The names in the events.
    private final class Names: Sendable {
        private let names = Mutex<[String?]>([])
        var all: [String?] { names.withLock { $0 } }
        func append(_ name: String?) { names.withLock { $0.append(name) } }
    }
}
