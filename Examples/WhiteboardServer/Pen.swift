import DistantObjects
import WhiteboardValues

/// A person's pen.
///
/// Nobody else can draw under the person's name.
final class Pen: Vendable, Implements {
    typealias I = PenInterface
    private let person: String
    private let board: Board

    static var messages: MessageTable<Pen> {
        Message(\I.draw, Pen.draw)
    }

    init(_ person: String, of board: Board) {
        self.person = person
        self.board = board
    }

    func draw(_ x: Int, _ y: Int) { board.add(Stroke(person: person, x: x, y: y)) }
}
