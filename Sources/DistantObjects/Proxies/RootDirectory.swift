import KeyedArchive
import Synchronization

/// The object in slot 0, which returns the roots by name.
final class RootDirectory: Vendable {
    private struct State: ~Copyable {
        var objects = SmallDictionary<String, any Vendable>()
        /// Why roots could not be vended, by name, until they are.
        var failures = SmallDictionary<String, ConnectionError>()
        var holdsLookups: Bool
        var isEnded = false
        /// Whether a look-up that waits was reported.
        var hasReported = false
        var waiting: [Waiting] = []

        /// Whether a look-up has to wait.
        func holds(_ name: String?) -> Bool {
            guard holdsLookups, !isEnded else { return false }
            return name.map { failures[$0] == nil } ?? failures.isEmpty
        }
    }

    /// A look-up that waits for the first object that is vended.
    private struct Waiting {
        /// The name of the root; nil for the names of all.
        let name: String?
        let continuation: UnsafeContinuation<Void, Never>
    }

    private let state: Mutex<State>
    private let reportWait: @Sendable () -> Void

    /// - Parameters:
    ///   - holdsLookups: Whether look-ups wait for the first `set`. They do on the accepting side, because the peer may look up a
    ///     root before the listener's user has the connection.
    ///   - reportWait: Called, while a call of the connection is served, if a look-up has waited for a second.
    init(holdsLookups: Bool, _ reportWait: @escaping @Sendable () -> Void) {
        self.reportWait = reportWait
        state = Mutex(State(holdsLookups: holdsLookups))
    }

    static var messages: MessageTable<RootDirectory> {
        Message("root", result: TypeDescription(.reference, "")) { (directory: RootDirectory, name: String) in
            { answer in try answer.encode(await directory.root(name)) }
        }
        Message("names", RootDirectory.names)
        Message("hasVended", RootDirectory.hasVended)
    }

    func set(_ objects: [(key: String, value: any Vendable)]) {
        let (waiting, before) = state.withLock { state in
            // Keeps replaced objects alive, because freeing them runs user code, which must not run under the lock.
            var before: [any Vendable] = []
            if !state.isEnded {
                for (name, object) in objects {
                    if let replaced = state.objects.removeValue(forKey: name) { before.append(replaced) }
                    _ = state.failures.removeValue(forKey: name)
                    state.objects.insert(object, for: name)
                }
            }
            state.holdsLookups = false
            defer { state.waiting = [] }
            return (state.waiting, before)
        }
        for lookup in waiting { lookup.continuation.resume() }
        withExtendedLifetime(before) {}
    }

    /// Refuses look-ups of a root that could not be vended, those that wait and later ones, until it is vended.
    func refuse(_ name: String, because failure: ConnectionError) {
        let refused = state.withLock { state in
            if state.isEnded { return [Waiting]() }
            _ = state.failures.removeValue(forKey: name)
            state.failures.insert(failure, for: name)
            var (held, refused) = ([Waiting](), [Waiting]())
            for lookup in state.waiting {
                if state.holds(lookup.name) { held.append(lookup) } else { refused.append(lookup) }
            }
            state.waiting = held
            return refused
        }
        for lookup in refused { lookup.continuation.resume() }
    }

    /// The objects that are vended.
    var identities: Set<ObjectIdentifier> { state.withLock { Set($0.objects.values.map { ObjectIdentifier($0) }) } }

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
        for lookup in waiting { lookup.continuation.resume() }
        withExtendedLifetime(objects) {}
    }

    /// The names of all roots, once there are some.
    @concurrent
    private func names() async -> [String] {
        await firstSet(nil)
        return state.withLock { $0.objects.keys.sorted() }
    }

    /// Whether something was vended, so that look-ups do not wait for it.
    ///
    /// The peer asks when a look-up has waited for a second.
    private func hasVended() -> Bool {
        let (hasVended, isFirst) = state.withLock { state in
            defer { if state.holdsLookups { state.hasReported = true } }
            return (!state.holdsLookups, !state.hasReported)
        }
        // A peer may ask any number of times.
        if !hasVended, isFirst { reportWait() }
        return hasVended
    }

    @concurrent
    private func root(_ name: String) async throws -> RootReference {
        await firstSet(name)
        let (object, failure) = state.withLock { ($0.objects[name], $0.failures[name]) }
        guard let object else { throw NoSuchRoot(name: name, failure: failure) }
        return RootReference(object: object)
    }

    /// Waits until something is vended, or the root of that name could not be.
    ///
    /// - Parameter name: Nil to wait until any could not be.
    private func firstSet(_ name: String?) async {
        await withUnsafeContinuation { continuation in
            let isReady = state.withLock { state in
                guard state.holds(name) else { return true }
                state.waiting.append(Waiting(name: name, continuation: continuation))
                return false
            }
            if isReady { continuation.resume() }
        }
    }
}

/// A root on its way to the peer.
private struct RootReference: _ByReferenceCodable {
    let object: any Vendable

    func _external(for owner: AnyObject?) throws -> _ExternalValue {
        guard let port = owner as? PortCoder else { throw ConnectionError.needsConnection(type(of: object)) }
        return .object(try port.vended(object))
    }
}
