import ExampleConsole

/// The options on the command line.
struct Command {
    enum Action {
        case help
        case list
        case add(name: String, serialNumber: String, value: Int, image: String?)
        case show(key: String)
        case remove(key: String)

        /// Whether the command changes the items.
        var isChange: Bool {
            switch self {
            case .add, .remove: true
            case .help, .list, .show: false
            }
        }
    }

    var action: Action
    var folder = "."

    static let usage = """
        Usage: ItemStore [--in FOLDER] list
               ItemStore [--in FOLDER] add NAME SERIAL-NUMBER DOLLARS [IMAGE-FILE]
               ItemStore [--in FOLDER] show KEY
               ItemStore [--in FOLDER] remove KEY

        Keeps a list of items in FOLDER/items.archive, and their images in files of their own beside it. FOLDER is
        the current one if none is named.
        """

    init(_ arguments: [String]) throws {
        try UsageError.check(arguments)
        if UsageError.asksForHelp(arguments) {
            action = .help
            return
        }
        var words = arguments
        if let index = words.firstIndex(of: "--in") {
            guard index + 1 < words.count else { throw UsageError("--in needs a folder after it") }
            folder = words[index + 1]
            words.removeSubrange(index...index + 1)
        }
        if let option = words.first(where: { $0.hasPrefix("--") }) {
            throw UsageError("there is no option “\(option)”")
        }
        switch (words.first, words.count) {
        case ("list", 1): action = .list
        case ("add", 4), ("add", 5):
            guard let value = Int(words[3]) else {
                throw UsageError("“\(words[3])” is no number of dollars")
            }
            action = .add(
                name: words[1], serialNumber: words[2], value: value, image: words.count == 5 ? words[4] : nil)
        case ("show", 2): action = .show(key: words[1])
        case ("remove", 2): action = .remove(key: words[1])
        case (nil, _): throw UsageError("list, add, show or remove is needed")
        case ("list", _): throw UsageError("list takes nothing after it")
        case ("add", _):
            throw UsageError("add takes a name, a serial number, a number of dollars, and perhaps an image")
        case ("show", _), ("remove", _): throw UsageError("\(words[0]) takes one key")
        case (let word?, _): throw UsageError("there is no command “\(word)”")
        }
    }
}
