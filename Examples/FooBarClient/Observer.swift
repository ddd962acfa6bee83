import DistantObjects
import FooBar
import Synchronization

/// An object of the client that the server calls.
final class Observer: Vendable, Implements {
    typealias I = ObserverInterface

    private let seen = Mutex<[String]>([])

    static var messages: MessageTable<Observer> {
        Message(\I.added, Observer.added)
    }

    func added(_ name: String) {
        seen.withLock { $0.append(name) }
    }

    /// The names that the server has reported so far.
    var names: [String] { seen.withLock { $0 } }
}
