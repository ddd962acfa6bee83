import DistantObjects
import FooBar
import Synchronization

/// The object that the server vends.
///
/// Clients send it messages.
final class Directory: Vendable, Implements {
    typealias I = DirectoryInterface

    private struct State {
        var ages: [String: Int] = [:]
        var observer: Remote<ObserverInterface>?
        var notes: [String] = []
    }

    private let state = Mutex(State())

    static var messages: MessageTable<Directory> {
        Message(\I.celebrate, Directory.celebrate)
        Message(\I.mirror, Directory.mirror)
        Message(\I.add, Directory.add)
        Message(\I.lookUp, Directory.lookUp)
        Message(\I.remove, Directory.remove)
        Message(\I.watch, Directory.watch)
        Message(\I.observer, Directory.observer)
        Message(\I.unwatch, Directory.unwatch)
        Message(\I.note, Directory.note)
        Message(\I.notes, Directory.notes)
    }

    /// Makes everybody in the Bar a year older, in the copy that arrived here.
    func celebrate(_ bar: Bar) -> Bar {
        for foo in bar.foos { foo.celebrate() }
        return bar
    }

    /// Returns the graph that arrived.
    func mirror(_ league: League) -> League { league }

    /// Adds a person, and notifies the observer.
    func add(_ foo: Foo) async throws -> Int {
        let name = foo.name
        let (count, observer) = state.withLock { [age = foo.age] state in
            state.ages[name] = age
            return (state.ages.count, state.observer)
        }
        try await observer?.added(name)
        return count
    }

    func lookUp(_ name: String) throws -> Foo {
        guard let age = state.withLock({ $0.ages[name] }) else { throw DirectoryError.noSuchName(name) }
        return Foo(name: name, age: age)
    }

    /// Removes a person.
    ///
    /// Returns the number of those left.
    func remove(_ name: String) throws -> Int {
        try state.withLock { state in
            guard state.ages.removeValue(forKey: name) != nil else { throw DirectoryError.noSuchName(name) }
            return state.ages.count
        }
    }

    func watch(_ observer: Remote<ObserverInterface>) {
        state.withLock { $0.observer = observer }
    }

    func observer() -> Remote<ObserverInterface>? {
        state.withLock { $0.observer }
    }

    func unwatch() {
        state.withLock { $0.observer = nil }
    }

    func note(_ text: String) {
        state.withLock { $0.notes.append(text) }
    }

    func notes() -> [String] {
        state.withLock { $0.notes }
    }
}
