import KeyedArchive
import Synchronization

/// The object in slot 0, which returns the roots by name.
final class RootDirectory: Vendable {
    private struct State: ~Copyable {
        var objects = SmallDictionary<String, any Vendable>()
        var holdsLookups: Bool
        var isEnded = false
        var waiting: [UnsafeContinuation<Void, Never>] = []
    }

    private let state: Mutex<State>

    /// - Parameter holdsLookups: Whether look-ups wait for the first `set`. They do on the accepting side, because the peer may
    ///   look up a root before the listener's user has the connection.
    init(holdsLookups: Bool) {
        state = Mutex(State(holdsLookups: holdsLookups))
    }

    static var messages: MessageTable<RootDirectory> {
        Message("root", result: TypeDescription(.reference, "")) { (directory: RootDirectory, name: String) in
            { answer in try answer.encode(await directory.root(name)) }
        }
        Message("names", RootDirectory.names)
    }

    func set(_ objects: [(key: String, value: any Vendable)]) {
        let (waiting, before) = state.withLock { state in
            // Keeps replaced objects alive, because freeing them runs user code, which must not run under the lock.
            var before: [any Vendable] = []
            if !state.isEnded {
                for (name, object) in objects {
                    if let replaced = state.objects.removeValue(forKey: name) { before.append(replaced) }
                    state.objects.insert(object, for: name)
                }
            }
            state.holdsLookups = false
            defer { state.waiting = [] }
            return (state.waiting, before)
        }
        for continuation in waiting { continuation.resume() }
        withExtendedLifetime(before) {}
    }

    /// Whether nothing is vended.
    var isEmpty: Bool { state.withLock { $0.objects.isEmpty } }

    /// Ends waiting look-ups and releases the roots.
    func end() {
        let (waiting, objects) = state.withLock { state in
            defer {
                state.waiting = []
                state.objects.removeAll()
            }
            state.isEnded = true
            return (state.waiting, state.objects.values)
        }
        for continuation in waiting { continuation.resume() }
        withExtendedLifetime(objects) {}
    }

    /// The names of all roots, once there are some.
    @concurrent
    private func names() async -> [String] {
        await firstSet()
        return state.withLock { $0.objects.keys.sorted() }
    }

    @concurrent
    private func root(_ name: String) async throws -> RootReference {
        await firstSet()
        guard let object = state.withLock({ $0.objects[name] }) else {
            throw NoSuchRoot(name: name)
        }
        return RootReference(object: object)
    }

    private func firstSet() async {
        await withUnsafeContinuation { continuation in
            let isReady = state.withLock { state in
                guard state.holdsLookups, !state.isEnded else { return true }
                state.waiting.append(continuation)
                return false
            }
            if isReady { continuation.resume() }
        }
    }
}

/// A root on its way to the peer.
private struct RootReference: ByReferenceCodable {
    let object: any Vendable

    func external(for owner: AnyObject?) throws -> ExternalValue {
        guard let port = owner as? PortCoder else { throw ConnectionError.needsConnection(type(of: object)) }
        return .object(try port.vended(object))
    }
}
