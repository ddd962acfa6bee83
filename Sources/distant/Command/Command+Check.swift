import KeyedArchive

extension Command {
    /// Thrown if some of the files are bad, after a line was printed for each.
    struct BadFiles: Error {}

    func check(_ paths: [String]) throws {
        let progress = Progress(for: 1)
        var isGood = true
        for path in paths {
            progress.show("opening \(path)")
            let verdict: String
            do {
                let file = try ArchiveFile(path, progress: progress)
                verdict = "\(PlainText.name(path)): good: \(file.summary)"
            } catch let error as FileError {
                isGood = false
                verdict = "\(PlainText.name(path)): bad: \(error.reason)"
            }
            progress.finish()
            try Console.say(verdict)
        }
        guard isGood else { throw BadFiles() }
    }
}
