// swift-format-ignore-file
// It is laid out as Trust.md shows it.

import DistantObjects
import Synchronization

/// The code of Trust.md.
enum TrustCode {
    static func listen(at path: String, for admitted: Set<UInt32>) throws -> Listener {
        // Trust.md: accept rule
        var configuration = Connection.Configuration()
        configuration.accept = Connection.AcceptRule { peer in
            guard let peer else { return "this service needs a socket" }
            return admitted.contains(peer.uid) ? nil : "user \(peer.uid) is not served here"
        }
        let listener = try Listener(at: .path(path), configuration: configuration)
        // end
        return listener
    }

    static func serve(_ store: Store, at listener: Listener, of owner: UInt32) async throws {
        // Trust.md: roots
        for await connection in listener {
            if connection.peer?.uid == owner {
                connection.vend(store)
            } else {
                connection.vend(Catalogue(of: store))
            }
        }
        // end
    }

    enum StoreError: Error, Codable {
        case notAllowed
    }

    final class Store: Vendable {
        private let names = Mutex<Set<String>>(["lamp"])
        private let owner: UInt32

        static var messages: MessageTable<Store> {
            Message("remove", Store.remove)
            Message("names", Store.allNames)
        }

        init(owner: UInt32) { self.owner = owner }

        func allNames() -> [String] { names.withLock { $0.sorted() } }

        // Trust.md: current
        func remove(_ name: String) throws {
            guard let peer = Connection.current?.peer, peer.uid == owner else { throw StoreError.notAllowed }
            names.withLock { names in _ = names.remove(name) }
        }
        // end
    }

    final class Catalogue: Vendable {
        private let store: Store

        static var messages: MessageTable<Catalogue> {
            Message("names", Catalogue.names)
        }

        init(of store: Store) { self.store = store }
        func names() -> [String] { store.allNames() }
    }

    static func bounded() -> Connection.Configuration {
        var configuration = Connection.Configuration()
        // Trust.md: limits
        configuration.limits.connectionsOfPeer = 4
        configuration.limits.runningCalls = 16
        configuration.limits.references = 1_000
        configuration.limits.exports = 1_000
        configuration.limits.message = 1 << 20
        configuration.limits.waitingBytes = 4 << 20
        configuration.limits.archive.objects = 10_000
        // end
        return configuration
    }
}
