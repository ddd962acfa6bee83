import KeyedArchive

extension Command {
    /// Thrown if some of the files are bad, after a line was printed for each.
    struct BadFiles: Error {}

    func check(_ paths: [String], isQuiet: Bool) throws {
        let progress = Progress(for: 1)
        var isGood = true
        for path in paths {
            progress.show("opening \(path)")
            var verdict: String?
            do {
                let file = try ArchiveFile(path, progress: progress)
                verdict = isQuiet ? nil : "\(PlainText.name(path)): good: \(file.summary)"
            } catch let error as FileError {
                isGood = false
                verdict = "\(PlainText.name(path)): bad: \(error.reason)"
            }
            progress.finish()
            if let verdict { try Console.say(verdict) }
        }
        guard isGood else { throw BadFiles() }
    }
}
