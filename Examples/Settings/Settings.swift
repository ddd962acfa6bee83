import Foundation

/// Shows and changes settings that are kept in an archive.
@main
struct Settings {
    static let usage = """
        Usage: Settings [--file FILE] [show]
               Settings [--file FILE] set area|lhour|primeTimeFrom|primeTimeTo|channelsPerPage VALUE
               Settings [--file FILE] search WORD
               Settings [--file FILE] order [NAME ...]

        Keeps settings in FILE, settings.dat if none is named; without a file the defaults hold. “search” puts a
        word into the history, which has room for \(Preferences.historyRoom); “order” without names forgets the order.
        """

    static func main() {
        do {
            try run(Array(CommandLine.arguments.dropFirst()))
            // What is printed is kept back until now.
            if fflush(nil) != 0 {
                complain("standard output cannot be written")
                exit(1)
            }
        } catch let error as UsageError {
            complain("\(error)\n\n\(usage)")
            exit(2)
        } catch {
            complain("\(error)")
            exit(1)
        }
    }

    /// Words of the command line that are not understood; the description says which.
    struct UsageError: Error, CustomStringConvertible {
        let description: String
    }

    private static func complain(_ sentence: String) {
        FileHandle.standardError.write(Data("Settings: \(sentence)\n".utf8))
    }

    private static func run(_ arguments: [String]) throws {
        // Repaired as it is, it would name another file.
        if let word = arguments.first(where: { $0.unicodeScalars.contains("\u{FFFD}") }) {
            throw UsageError(description: "“\(word)” is no text in UTF-8")
        }
        var words = arguments
        var path = "settings.dat"
        if let index = words.firstIndex(of: "--file") {
            guard index + 1 < words.count else { throw UsageError(description: "--file needs a file after it") }
            path = words[index + 1]
            words.removeSubrange(index...index + 1)
        }
        if words == ["--help"] || words == ["-h"] { return print(usage) }
        let file = PreferencesFile(url: URL(fileURLWithPath: path))
        let preferences = try file.load()
        if !words.isEmpty && words != ["show"] {
            try change(preferences, words)
            try file.save(preferences)
        }
        print(preferences)
    }

    private static func change(_ preferences: Preferences, _ words: [String]) throws {
        switch (words[0], words.count) {
        case ("set", 3): try set(preferences, words[1], words[2])
        case ("search", 2): preferences.noteSearch(words[1])
        case ("order", _): preferences.orderOfViewControllers = words.count > 1 ? Array(words.dropFirst()) : nil
        default: throw UsageError(description: "“\(words.joined(separator: " "))” is not understood")
        }
    }

    private static func set(_ preferences: Preferences, _ key: String, _ value: String) throws {
        switch key {
        case "area": preferences.area = value
        case "primeTimeFrom": preferences.primeTimeFrom = value
        case "primeTimeTo": preferences.primeTimeTo = value
        case "lhour", "channelsPerPage":
            guard let number = Int(value) else { throw UsageError(description: "\(key) is a number, not “\(value)”") }
            if key == "lhour" { preferences.lhour = number } else { preferences.channelsPerPage = number }
        default: throw UsageError(description: "there is no setting “\(key)”")
        }
    }
}
