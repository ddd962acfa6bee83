import DistantObjects
import DistantTesting
import TestSupport
import Testing

/// The ways from a caller to an object.
enum CallPath: String, CaseIterable, Sendable, CustomTestStringConvertible {
    case local, memory, socket, pipes, sharedMemory

    var testDescription: String { rawValue }

    /// An object behind this path.
    func ends(
        _ caller: Connection.Configuration = .patient, object: Connection.Configuration? = nil
    ) async throws -> PropertyEnds {
        let office = Office()
        var caller = caller
        caller.errorTypes = [NotFound.self]
        if self == .local {
            if let object { caller.limits = object.limits }
            return PropertyEnds(office: office, remote: Remote(local: office, configuration: caller), path: self)
        }
        caller.sharesMemory = self == .sharedMemory
        if self == .sharedMemory { caller.busy = .always }
        let (client, server) = try await connections(caller, object ?? .patient)
        try server.vend(office)
        let remote = try await client.root(as: OfficeInterface.self)
        while self == .sharedMemory, !client.isInSharedMemory || !server.isInSharedMemory { try await client.ping() }
        return PropertyEnds(office: office, remote: remote, path: self)
    }

    private func connections(
        _ caller: Connection.Configuration, _ object: Connection.Configuration
    ) async throws -> (Connection, Connection) {
        switch self {
        case .pipes: return try await Connection.pair(over: .pipes, first: caller, second: object)
        case .memory:
            let pair = try await ConnectionPair(first: caller, second: object, seed: TestSeed.next(), capacity: 10_000)
            return (pair.first, pair.second)
        case .local, .socket, .sharedMemory: return try await Connection.pair(first: caller, second: object)
        }
    }
}

/// An object, and a remote for it.
struct PropertyEnds {
    let office: Office
    let remote: Remote<OfficeInterface>
    let path: CallPath

    /// The caller's end.
    var connection: Connection {
        get throws { try #require(remote.object.connection) }
    }
}
