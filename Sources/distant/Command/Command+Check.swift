import KeyedArchive

extension Command {
    func check(_ paths: [String]) throws {
        let progress = Progress(for: 1)
        var bad: [String] = []
        for path in paths {
            progress.show("opening \(path)")
            let verdict: String
            do {
                let file = try ArchiveFile(path, progress: progress)
                verdict = "\(PlainText.name(path)): good: \(file.summary)"
            } catch let error as FileError {
                bad.append(path)
                verdict = "\(PlainText.name(path)): bad: \(error.reason)"
            }
            progress.finish()
            try Console.say(verdict)
        }
        guard let first = bad.first else { return }
        throw FileError(first, bad.count == 1 ? "is bad" : "and \(bad.count - 1) more of \(paths.count) files are bad")
    }
}
