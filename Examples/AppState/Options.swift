import ExampleConsole
import KeyedArchive

/// The options on the command line.
struct Options {
    var path = "foo2.archive"
    /// Nil to keep the format of the file.
    var format: ArchiveFormat?
    var wantsHelp = false

    static let usage = """
        Usage: AppState [--format binary | xml | compact] [FILE]

        Keeps a Foo and a Bar in FILE, foo2.archive if none is named: makes them at the first run,
        and at each later one shows what was saved, changes it, and saves it again.

          --format   how to write the file; without it as it was, at first binary
          --help     this text
        """

    init(_ arguments: [String]) throws {
        try UsageError.check(arguments)
        if UsageError.asksForHelp(arguments) {
            wantsHelp = true
            return
        }
        let formats: [String: ArchiveFormat] = ["binary": .binary, "xml": .xml, "compact": .compact]
        var files: [String] = []
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            switch argument {
            case "--format":
                guard let name = rest.popFirst(), let known = formats[name] else {
                    throw UsageError("--format needs binary, xml or compact after it")
                }
                format = known
            case _ where argument.hasPrefix("-") || argument.isEmpty:
                throw UsageError("“\(argument)” is not understood")
            default: files.append(argument)
            }
        }
        guard files.count <= 1 else { throw UsageError("“\(files[1])” is one file too many") }
        path = files.first ?? path
    }
}
