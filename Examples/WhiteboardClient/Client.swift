import DistantObjects
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
