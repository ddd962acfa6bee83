/// Words of the command line that are not understood; the description says which.
public struct UsageError: Error, CustomStringConvertible {
    /// What is wrong with them.
    public let description: String

    /// Makes an error.
    public init(_ description: String) {
        self.description = description
    }

    /// Refuses words that are no text: repaired as they are, they would name another file.
    public static func check(_ words: [String]) throws {
        if let word = words.first(where: { $0.unicodeScalars.contains("\u{FFFD}") }) {
            throw UsageError("“\(word)” is no text in UTF-8")
        }
    }
}
