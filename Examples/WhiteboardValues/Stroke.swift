/// A stroke on the whiteboard; sent by copy.
public struct Stroke: Codable, Sendable {
    /// Who has drawn it.
    public var person: String
    /// Where it begins, from the left.
    public var x: Int
    /// Where it begins, from the top.
    public var y: Int

    /// Makes a stroke.
    public init(person: String, x: Int, y: Int) {
        self.person = person
        self.x = x
        self.y = y
    }
}
