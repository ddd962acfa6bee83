import ExampleConsole
import Foundation

/// Shows and changes settings in an archive.
@main
struct Settings {
    static let usage = """
        Usage: Settings [--file FILE] [show]
               Settings [--file FILE] set area|lhour|primeTimeFrom|primeTimeTo|channelsPerPage VALUE
               Settings [--file FILE] unset area|primeTimeFrom|primeTimeTo
               Settings [--file FILE] search WORD
               Settings [--file FILE] order [NAME ...]

        Keeps settings in FILE, settings.dat if none is named. What the file lacks has its default; what was
        unset stays unset. “search” puts a word into the history, which has room for \(Preferences.historyRoom);
        “order” without names forgets the order.
        """

    static func main() {
        Console.reserveDescriptors()
        do {
            try run(Array(CommandLine.arguments.dropFirst()))
            try Console.checkOutput()
        } catch let error as UsageError {
            Console.complain("Settings", error)
            exit(2)
        } catch {
            Console.complain("Settings", "\(error)")
            exit(1)
        }
    }

    private static func run(_ arguments: [String]) throws {
        try UsageError.check(arguments)
        if UsageError.asksForHelp(arguments) { return Console.say(usage) }
        var words = arguments
        var path = "settings.dat"
        if let index = words.firstIndex(of: "--file") {
            guard index + 1 < words.count else { throw UsageError("--file needs a file after it") }
            path = words[index + 1]
            words.removeSubrange(index...index + 1)
        }
        let file = PreferencesFile(url: URL(fileURLWithPath: path))
        let preferences = try file.load()
        if !words.isEmpty && words != ["show"] {
            try change(preferences, words)
            try file.save(preferences)
        }
        Console.say("\(preferences)")
    }

    private static func change(_ preferences: Preferences, _ words: [String]) throws {
        switch (words[0], words.count) {
        case ("set", 3): try set(preferences, words[1], words[2])
        case ("unset", 2): try unset(preferences, words[1])
        case ("search", 2): preferences.noteSearch(words[1])
        case ("order", _): preferences.orderOfViewControllers = words.count > 1 ? Array(words.dropFirst()) : nil
        case ("show", _): throw UsageError("show takes nothing after it")
        case ("set", _): throw UsageError("set takes a name and a value")
        case ("unset", _): throw UsageError("unset takes a name")
        case ("search", _): throw UsageError("search takes a word")
        default: throw UsageError("there is no command or option “\(words[0])”")
        }
    }

    private static func unset(_ preferences: Preferences, _ key: String) throws {
        switch key {
        case "area": preferences.area = nil
        case "primeTimeFrom": preferences.primeTimeFrom = nil
        case "primeTimeTo": preferences.primeTimeTo = nil
        default: throw UsageError("“\(key)” cannot be unset")
        }
    }

    private static func set(_ preferences: Preferences, _ key: String, _ value: String) throws {
        switch key {
        case "area": preferences.area = value
        case "primeTimeFrom": preferences.primeTimeFrom = value
        case "primeTimeTo": preferences.primeTimeTo = value
        case "lhour", "channelsPerPage":
            guard let number = Int(value) else { throw UsageError("\(key) is a number, not “\(value)”") }
            if key == "lhour" { preferences.lhour = number } else { preferences.channelsPerPage = number }
        default: throw UsageError("there is no setting “\(key)”")
        }
    }
}
