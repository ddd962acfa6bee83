import PortTransport
import Synchronization

/// A connection, which is notified of events of its loop.
protocol LoopUser: AnyObject, Sendable {
    var loop: any PortLoop { get }
    func report(_ event: ConnectionEvent)
}

/// Reports events of an event loop to the connections on it.
final class LoopWatch: Sendable {
    static let shared = LoopWatch()

    // Unmanaged, because retaining an object that has weak references costs several times as much. A connection is removed
    // before its channel releases it.
    private let connections = Mutex<[ObjectIdentifier: LoopUserReference]>([:])

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
    func add(_ connection: some LoopUser) {
        let reference = LoopUserReference(connection: connection)
        connections.withLock { $0[ObjectIdentifier(connection)] = reference }
    }

    func remove(_ connection: some LoopUser) {
        _ = connections.withLock { $0.removeValue(forKey: ObjectIdentifier(connection)) }
    }

    private func connections(on loop: ObjectIdentifier) -> [any LoopUser] {
        connections.withLock { connections in
            connections.values.map(\.connection).filter { ObjectIdentifier($0.loop) == loop }
        }
    }
}

private struct LoopUserReference {
    unowned(unsafe) let connection: any LoopUser
}
