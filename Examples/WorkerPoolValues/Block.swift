/// Numbers to search; sent by copy.
public struct Block: Codable, Sendable {
    /// The first number.
    public var first: Int
    /// The last number; nil for a search without an end.
    public var last: Int?

    /// Makes a block.
    public init(first: Int, last: Int?) {
        self.first = first
        self.last = last
    }
}
