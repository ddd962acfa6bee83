import PortTransport
import Synchronization

/// Reports events of an event loop to the connections on it.
final class LoopWatch: Sendable {
    static let shared = LoopWatch()

    // Unmanaged, because retaining an object that has weak references costs several times as much. A connection is removed
    // before its channel releases it.
    private let connections = Mutex<[ObjectIdentifier: Unmanaged<Connection>]>([:])

    /// Starts to report a loop's events.
    func watch(_ loop: EventLoop) {
        let id = ObjectIdentifier(loop)
        loop.setEventHook { event in
            switch event {
            case .threadsExhausted(let count):
                for connection in self.connections(on: id) { connection.report(.threadsExhausted(count)) }
            }
        }
    }

    /// Adds a connection that has an event handler.
    ///
    /// It is removed when it ends.
    func add(_ connection: Connection) {
        connections.withLock { $0[ObjectIdentifier(connection)] = Unmanaged.passUnretained(connection) }
    }

    func remove(_ connection: Connection) {
        _ = connections.withLock { $0.removeValue(forKey: ObjectIdentifier(connection)) }
    }

    private func connections(on loop: ObjectIdentifier) -> [Connection] {
        connections.withLock { connections in
            connections.values.map { $0.takeUnretainedValue() }.filter { ObjectIdentifier($0.loop) == loop }
        }
    }
}
