import KeyedArchive
import TestSupport
import Testing

@testable import DistantObjects

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Objects that one connection has received are put into the messages of another, by a type that does not look where it is sent.
@Suite("Entries of another connection", .bounded())
struct ForeignEntryTests {
    @Test("Each message refuses them, and the connection goes on", arguments: Kind.allCases)
    func refusingInForeignEntry(_ kind: Kind) async throws {
        let first = try await Depot.open()
        let second = try await Depot.open()
        let depot = second.depot
        let smuggled = Smuggled(object: try await kind.object(first.depot))
        await expectCode(.foreignReference) { try await depot.take(smuggled) }
        await expectCode(.foreignReference) { try await depot.take.oneWay(smuggled) }
        await expectCode(.foreignReference) { _ = try depot.take.offer(smuggled) }
        await expectCode(.foreignReference) { let _: String = try await depot.itself.promise(smuggled).name() }
        let failed = try await onThread {
            #expect(throws: ConnectionError.self) { try depot.take.blocking(smuggled) }
        }
        #expect(failed?.code == .foreignReference)
        // The other direction, in answers and streams.
        second.served.smuggled = smuggled
        await expectCode(.foreignReference) { let _: DistantObject = try await depot.give() }
        await expectCode(.foreignReference) { let _: String = try await depot.give.promise().name() }
        let failure = await #expect(throws: RemoteError.self) { try await depot.fail() }
        #expect(failure?.typeName == "SmuggledError")
        let items: DistantStream<DistantObject> = try await depot.items()
        await #expect(throws: RemoteError.self) { for try await _ in items {} }
        let ended: DistantStream<Int>.WithFinal<DistantObject> = try await depot.ended()
        await expectCode(.notEncodable) { _ = try await ended.final }
        #expect(try await depot.name() == "depot")
        #expect(!second.pair.client.isEnded && !first.pair.client.isEnded)
        await second.pair.client.close()
        await first.pair.client.close()
    }

    /// What a connection has received.
    enum Kind: CaseIterable, Sendable {
        case proxy, promise, stream, bytes, region

        func object(_ depot: DistantObject) async throws -> any AnyObject & Sendable {
            switch self {
            case .proxy: return try await depot.itself(1) as DistantObject
            case .promise: return depot.itself.promise(1)
            case .stream:
                let stream: DistantStream<Int> = try await depot.numbers()
                guard case .remote(let handle) = stream.content.origin else { throw CancellationError() }
                return handle
            case .bytes: return SharedBlob(SharedBytes(Data([1, 2, 3])))
            case .region:
                let connection = try #require(depot.connection)
                var bytes = try connection.withBlob(byteCount: 1 << 20) { $0[0] = 1 }
                #if !canImport(Darwin)
                    while !bytes.isShared {
                        try await connection.ping()
                        bytes = try connection.withBlob(byteCount: 1 << 20) { $0[0] = 1 }
                    }
                #endif
                return SharedBlob(bytes)
            }
        }
    }
}

/// A value that enters an object into the table of references, whatever the connection is.
private struct Smuggled: _ByReferenceCodable, Sendable {
    let object: any AnyObject & Sendable

    func _external(for owner: AnyObject?) throws -> _ExternalValue { .object(object) }
}

/// An error with such a value.
private struct SmuggledError: Error, Codable {
    let smuggled: Smuggled
}

private final class Depot: Vendable, @unchecked Sendable {
    // Set before the first call that reads it.
    var smuggled: Smuggled?

    static var messages: MessageTable<Depot> {
        Message("name") { (_: Depot) in { () -> String in "depot" } }
        Message("itself") { (depot: Depot) in { (_: Int) -> Depot in depot } }
        Message("take") { (_: Depot) in { (_: DistantObject) in } }
        Message("numbers") { (_: Depot) in { () -> DistantStream<Int> in DistantStream(0..<3) } }
        Message("give") { (depot: Depot) in { () throws -> Smuggled in try #require(depot.smuggled) } }
        Message("fail") { (depot: Depot) in
            { () throws -> Void in throw SmuggledError(smuggled: try #require(depot.smuggled)) }
        }
        Message("items") { (depot: Depot) in
            { () throws -> DistantStream<Smuggled> in DistantStream([try #require(depot.smuggled)]) }
        }
        Message("ended") { (depot: Depot) in
            { () throws -> DistantStream<Int>.WithFinal<Smuggled> in
                let smuggled = try #require(depot.smuggled)
                return DistantStream.WithFinal { _ in smuggled }
            }
        }
    }

    static func open() async throws -> (pair: Pair, served: Depot, depot: DistantObject) {
        let pair = try await Pair()
        let served = Depot()
        pair.server.vend(served, as: "depot")
        return (pair, served, try await pair.client.root(named: "depot"))
    }
}
