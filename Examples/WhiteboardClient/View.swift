import Synchronization

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
