/// The words after the command's name: options, then files; after “--” only files.
struct Words {
    private var options: [String] = []
    private var plain: [String] = []

    init(_ arguments: some Sequence<String>) {
        var isPlain = false
        for argument in arguments {
            if isPlain {
                plain.append(argument)
            } else if argument == "--" {
                isPlain = true
            } else {
                options.append(argument)
            }
        }
    }

    /// Removes an option; returns whether it was there.
    mutating func takeFlag(_ name: String) -> Bool {
        guard let index = options.firstIndex(of: name) else { return false }
        options.remove(at: index)
        return true
    }

    /// Removes an option and the word after it.
    mutating func takeValue(_ name: String) throws -> String? {
        guard let index = options.firstIndex(of: name) else { return nil }
        guard index + 1 < options.count else { throw UsageError("\(name) needs a word after it") }
        let value = options[index + 1]
        options.removeSubrange(index...index + 1)
        return value
    }

    /// The files; throws if there are none.
    ///
    /// - Parameter what: What is needed, for example “a file”.
    func files(named what: String = "a file") throws -> [String] {
        if let unknown = options.first(where: { $0.hasPrefix("-") && $0 != StandardStreams.name }) {
            throw UsageError("there is no option “\(unknown)” here")
        }
        let files = options + plain
        guard !files.isEmpty else { throw UsageError("\(what) is needed") }
        guard !files.contains("") else { throw UsageError("\(what) is needed, and a name is empty") }
        return files
    }

    /// The files; throws unless there is exactly one for each name.
    func rest(named names: [String]) throws -> [String] {
        guard !names.isEmpty else {
            if let word = (options + plain).first { throw UsageError("“\(word)” is one word too many") }
            return []
        }
        let files = try files(named: names[0])
        guard files.count >= names.count else { throw UsageError("\(names[files.count]) is needed, too") }
        guard files.count == names.count else {
            throw UsageError("“\(files[names.count])” is one word too many")
        }
        return files
    }
}
