// FirstConnection.md: values
/// The word count of a text; sent by copy.
public nonisolated struct WordCount: Codable, Sendable {
    /// The number of words.
    public var words: Int
    /// The longest word.
    public var longest: String

    /// Counts the words of a text.
    public init(of text: String) {
        let all = text.split { !$0.isLetter }
        words = all.count
        longest = all.max { $0.count < $1.count }.map { String($0) } ?? ""
    }
}

/// The errors of the worker.
public enum WordCountError: Error, Codable, CustomStringConvertible {
    /// The file does not exist, or is not text.
    case unreadable(String)

    /// The error as the user reads it.
    public var description: String {
        switch self {
        case .unreadable(let path): "\(path) cannot be read"
        }
    }
}
// end
