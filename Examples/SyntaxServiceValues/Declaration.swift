/// A line of a file's outline; sent by copy.
public struct Declaration: Codable, Sendable, Equatable {
    /// What is declared.
    public var name: String
    /// The number of declarations that it is in.
    public var depth: Int

    /// Makes a declaration.
    public init(name: String, depth: Int) {
        self.name = name
        self.depth = depth
    }
}
