import KeyedArchive
import Synchronization

/// The errors that an interface and its bases list, by the names of their types.
final class InterfaceErrors: Sendable {
    let types: [any (Error & Codable).Type]

    init(_ types: [any (Error & Codable).Type]) { self.types = types }

    /// The first type of a name; those of the interface come before those of its bases.
    func type(named name: String) -> (any (Error & Codable).Type)? { types.first { typeName($0) == name } }
}

/// The errors of the interfaces that are called over a connection.
final class KnownErrors: Sendable {
    fileprivate enum Entry {
        case type(any (Error & Codable).Type)
        /// Two interfaces list different types of the name.
        case ambiguous
    }

    fileprivate struct State {
        var interfaces: Set<ObjectIdentifier> = []
        var entries: [String: Entry] = [:]
    }

    private let state = Mutex(State())

    /// Adds the errors of an interface; they live as long as the process.
    func add(_ errors: InterfaceErrors) {
        state.withLock { state in
            guard state.interfaces.insert(ObjectIdentifier(errors)).inserted else { return }
            for type in errors.types { state.add(type) }
        }
    }

    /// The type of a name.
    ///
    /// - Throws: `AmbiguousError` if there are several, since the content of one may look like that of another.
    func type(named name: String) throws(AmbiguousError) -> (any (Error & Codable).Type)? {
        switch state.withLock({ $0.entries[name] }) {
        case .type(let type): return type
        case .ambiguous: throw AmbiguousError()
        case nil: return nil
        }
    }

    struct AmbiguousError: Error, CustomStringConvertible {
        var description: String {
            "interfaces of this connection list different types of that name; Connection.Configuration.errorTypes decides"
        }
    }
}

extension KnownErrors.State {
    fileprivate mutating func add(_ type: any (Error & Codable).Type) {
        let name = typeName(type)
        if case .type(let known)? = entries[name], known != type { entries[name] = .ambiguous }
        if entries[name] == nil { entries[name] = .type(type) }
    }
}
