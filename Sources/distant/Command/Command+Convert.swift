import KeyedArchive

extension Command {
    func convert(_ source: String, _ target: String, _ format: Target) throws {
        // Nothing else is printed to the terminal.
        let progress = Progress(for: nil)
        let file = try ArchiveFile(source, progress: progress)
        let replacement = try ReplacementFile(target)
        defer { replacement.discard() }
        let output = ByteOutput(descriptor: replacement.descriptor, named: target)
        switch format {
        case .json: try print(file, to: output, true, progress)
        case .archive(let format):
            progress.show("writing \(target)")
            do {
                try file.graph.write(format: format, limits: ArchiveFile.limits) {
                    output.append($0)
                    try output.check()
                }
            } catch let error as ArchiveError {
                throw FileError(source, "cannot be written as \(format): \(error)")
            }
        }
        try output.flush()
        try replacement.commit()
        progress.finish()
    }
}
