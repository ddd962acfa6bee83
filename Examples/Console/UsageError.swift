/// An error in the words of the command line.
public struct UsageError: Error, CustomStringConvertible {
    /// The error as text.
    public let description: String

    /// Makes an error.
    public init(_ description: String) {
        self.description = description
    }

    /// Whether the words ask for the usage.
    public static func asksForHelp(_ words: [String]) -> Bool {
        words.contains("--help") || words.contains("-h")
    }

    /// Refuses words that are not valid UTF-8, because their repaired form would name another file.
    public static func check(_ words: [String]) throws {
        if let word = words.first(where: { $0.unicodeScalars.contains("\u{FFFD}") }) {
            throw UsageError("“\(word)” is not text in UTF-8")
        }
    }
}
