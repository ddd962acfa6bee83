import PortTransport
import Synchronization

/// Tells the connections of a loop what the loop has to say about itself.
final class LoopWatch: Sendable {
    static let shared = LoopWatch()

    // No weak references, here and to loops: an object that has one pays several times as much for each count. A connection
    // is removed before its channel lets it go.
    private let connections = Mutex<[ObjectIdentifier: Unmanaged<Connection>]>([:])

    /// Has the loop tell its connections.
    func watch(_ loop: EventLoop) {
        let id = ObjectIdentifier(loop)
        loop.setEventHook { event in
            switch event {
            case .threadsExhausted(let count):
                for connection in self.connections(on: id) { connection.report(.threadsExhausted(count)) }
            }
        }
    }

    /// To be called for each connection that reports events, when it begins; it is forgotten at its end.
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
