import DistantObjects
import Synchronization
import WhiteboardValues

/// The whiteboard, which all clients share; sent by reference.
final class Board: Vendable, Implements {
    typealias I = BoardInterface

    private struct State {
        var strokes: [Stroke] = []
        var observers: [String: Remote<ObserverInterface>] = [:]
        var watchers: [Int: AsyncStream<Stroke>.Continuation] = [:]
        var watcherCount = 0
    }

    private let state = Mutex(State())

    static var messages: MessageTable<Board> {
        Message(\I.join, Board.join)
        Message(\I.strokes, Board.strokes)
        Message(\I.people, Board.people)
    }

    func join(_ person: String, _ observer: Remote<ObserverInterface>) async throws -> Pen {
        let others = try state.withLock { state in
            guard state.observers[person] == nil else { throw NameTaken(name: person) }
            defer { state.observers[person] = observer }
            return Array(state.observers.values)
        }
        // Called once when the client is gone, in whatever way.
        observer.onEnd { _ in self.leave(person) }
        for other in others { try? await other.joined.oneWay(person) }
        return Pen(person, of: self)
    }

    func people() -> [String] { state.withLock { $0.observers.keys.sorted() } }

    /// Each client reads at its own pace.
    func strokes() -> AsyncStream<Stroke> {
        AsyncStream { continuation in
            let number = state.withLock { state in
                for stroke in state.strokes { continuation.yield(stroke) }
                state.watcherCount += 1
                state.watchers[state.watcherCount] = continuation
                return state.watcherCount
            }
            continuation.onTermination = { _ in self.state.withLock { _ = $0.watchers.removeValue(forKey: number) } }
        }
    }

    func add(_ stroke: Stroke) {
        state.withLock { state in
            state.strokes.append(stroke)
            for watcher in state.watchers.values { watcher.yield(stroke) }
        }
    }

    private func leave(_ person: String) {
        let others = state.withLock { state in
            state.observers.removeValue(forKey: person)
            return Array(state.observers.values)
        }
        Task { for other in others { try? await other.left.oneWay(person) } }
    }
}

/// The name of a person is in use.
struct NameTaken: Error, Codable {
    let name: String
}
