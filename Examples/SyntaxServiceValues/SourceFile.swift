/// A file that is open in the editor; sent by copy.
public struct SourceFile: Codable, Sendable {
    /// The name of the file.
    public var name: String
    /// Its text: a line `name {` begins a declaration, a line `}` ends it, and other lines are comments.
    public var text: String

    /// Makes a file.
    public init(name: String, text: String) {
        self.name = name
        self.text = text
    }
}
