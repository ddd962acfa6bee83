import KeyedArchive

extension Command {
    func dump(_ path: String, _ asJSON: Bool) throws {
        let progress = Progress(for: 1)
        let file = try ArchiveFile(path, progress: progress)
        let output = ByteOutput(descriptor: 1, named: "standard output")
        try print(file, to: output, asJSON, progress)
        progress.finish()
        try output.flush()
    }

    /// Prints an archive as a tree or as JSON.
    func print(_ file: ArchiveFile, to output: ByteOutput, _ asJSON: Bool, _ progress: Progress) throws {
        guard asJSON else {
            var tree = GraphTree(file, output: output, progress: progress)
            return try tree.print()
        }
        output.limit = GraphJSON.longest(fileSize: file.size)
        do {
            var json = GraphJSON(file.graph, output: output, progress: progress)
            try json.print()
        } catch is ByteOutput.TooLong {
            throw FileError(
                file.path, "what its objects share would take more than \(output.limit) bytes when written out as JSON")
        }
    }
}
