// FirstConnection.md: values
/// What a text holds; sent by copy.
public struct WordCount: Codable, Sendable {
    /// How many words there are.
    public var words: Int
    /// The longest of them.
    public var longest: String

    /// The words of a text.
    public init(of text: String) {
        let all = text.split { !$0.isLetter }
        words = all.count
        longest = all.max { $0.count < $1.count }.map { String($0) } ?? ""
    }
}

/// What the worker throws.
public enum WordCountError: Error, Codable {
    /// The file is not there, or is no text.
    case unreadable(String)
}
// end
