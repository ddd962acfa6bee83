import DistantObjects
import WhiteboardValues

/// Is notified of other people by the whiteboard.
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
