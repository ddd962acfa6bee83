import DistantObjects
import Synchronization
import WhiteboardValues

/// A person at the whiteboard, as the demonstration sees it.
final class Client: Vendable, Implements {
    typealias I = ClientInterface
    private let pen: Remote<PenInterface>
    private let view: View

    static var messages: MessageTable<Client> {
        Message(\I.draw, Client.draw)
        Message(\I.seen, Client.seen)
        Message(\I.noticed, Client.noticed)
    }

    init(_ pen: Remote<PenInterface>, _ view: View) {
        self.pen = pen
        self.view = view
    }

    func draw(_ count: Int) async throws {
        for number in 0..<count { try await pen.draw(number, number) }
    }

    func seen(_ count: Int) async -> [String: Int] {
        await view.wait { $0.strokes.values.reduce(0, +) >= count }.strokes
    }

    func noticed(_ person: String) async {
        _ = await view.wait { $0.left.contains(person) }
    }
}

/// What a client has seen so far.
final class View: Sendable {
    struct Content {
        /// The number of strokes of each person.
        var strokes: [String: Int] = [:]
        var left: Set<String> = []
    }

    private struct Waiting {
        let isEnough: @Sendable (Content) -> Bool
        let continuation: CheckedContinuation<Content, Never>
    }

    private let state = Mutex((content: Content(), waiting: [Waiting]()))

    func change(_ body: (inout Content) -> Void) {
        let (content, due) = state.withLock { state in
            body(&state.content)
            let content = state.content
            let due = state.waiting.filter { $0.isEnough(content) }
            state.waiting.removeAll { $0.isEnough(content) }
            return (content, due)
        }
        for waiting in due { waiting.continuation.resume(returning: content) }
    }

    /// Waits until the content is enough.
    func wait(until isEnough: @escaping @Sendable (Content) -> Bool) async -> Content {
        await withCheckedContinuation { continuation in
            let content = state.withLock { state -> Content? in
                if isEnough(state.content) { return state.content }
                state.waiting.append(Waiting(isEnough: isEnough, continuation: continuation))
                return nil
            }
            if let content { continuation.resume(returning: content) }
        }
    }
}

/// Is told by the whiteboard of other people.
final class Observer: Vendable, Implements {
    typealias I = ObserverInterface
    private let view: View

    static var messages: MessageTable<Observer> {
        Message(\I.joined, Observer.joined)
        Message(\I.left, Observer.left)
    }

    init(_ view: View) { self.view = view }
    func joined(_ person: String) { view.change { _ = $0.left.remove(person) } }
    func left(_ person: String) { view.change { _ = $0.left.insert(person) } }
}
