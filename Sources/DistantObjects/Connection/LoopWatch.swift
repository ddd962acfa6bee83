import PortTransport
import Synchronization

/// Tells the connections of a loop what the loop has to say about itself.
final class LoopWatch: Sendable {
    static let shared = LoopWatch()

    private struct Watching {
        weak var connection: Connection?
    }

    private let connections = Mutex<[ObjectIdentifier: Watching]>([:])

    /// Has the loop tell its connections.
    func watch(_ loop: EventLoop) {
        loop.setEventHook { [weak loop] event in
            guard let loop, case .threadsExhausted(let count) = event else { return }
            for connection in self.connections(on: loop) { connection.report(.threadsExhausted(count)) }
        }
    }

    /// To be called for each connection that reports events; it is forgotten at its end.
    func add(_ connection: Connection) {
        connections.withLock { $0[ObjectIdentifier(connection)] = Watching(connection: connection) }
    }

    func remove(_ connection: Connection) {
        _ = connections.withLock { $0.removeValue(forKey: ObjectIdentifier(connection)) }
    }

    private func connections(on loop: EventLoop) -> [Connection] {
        connections.withLock { $0.values.compactMap(\.connection) }.filter { $0.loop === loop }
    }
}
