import DistantObjects
import Synchronization

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// An object that opens connections to a listener and holds them.
final class Hog: Vendable {
    private let held = Mutex<[Connection]>([])

    static var messages: MessageTable<Hog> {
        Message("become", Hog.become)
        Message("open", Hog.open)
        Message("count", Hog.count)
        Message("use", Hog.use)
    }

    /// Goes on as another user.
    func become(_ user: UInt32) -> Bool { setgid(user) == 0 && setuid(user) == 0 }

    /// Opens connections until one is refused.
    ///
    /// - Returns: The number of open ones.
    @concurrent
    func open(_ path: String, _ most: Int) async throws -> Int {
        var configuration = Connection.Configuration.patient
        configuration.accept = .anyone
        configuration.handshakeTimeout = .seconds(600)
        for _ in 0..<most {
            do {
                let connection = try await Connection.open(.path(path), configuration: configuration)
                held.withLock { $0.append(connection) }
            } catch let error as ConnectionError where error.code == .peerRefused {
                break
            }
        }
        return count()
    }

    /// The number of open connections.
    func count() -> Int { held.withLock { $0.count { !$0.isEnded } } }

    /// Calls the root over each open connection.
    @concurrent
    func use() async throws {
        for connection in held.withLock({ $0 }) where !connection.isEnded {
            let back: Int = try await connection.root.echo(1)
            guard back == 1 else { throw CancellationError() }
        }
    }
}
