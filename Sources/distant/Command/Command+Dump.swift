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
        if output.limit == .max { output.limit = GraphJSON.longest(fileSize: file.size) }
        do {
            guard asJSON else { return try printTree(file, to: output, progress) }
            switch file.content {
            case .keyed(let graph):
                var json = GraphJSON(graph, output: output, progress: progress)
                try json.print()
            case .typedstream(let graph):
                var json = TypedStreamJSON(graph, output: output, progress: progress)
                try json.print()
            case .nibArchive(let graph):
                var json = NIBArchiveJSON(graph, output: output, progress: progress)
                try json.print()
            }
        } catch is ByteOutput.TooLong {
            throw FileError(
                file.path,
                "what its objects and types share would take more than \(output.limit) bytes when written out"
                    + (asJSON ? " as JSON" : ""))
        }
    }

    private func printTree(_ file: ArchiveFile, to output: ByteOutput, _ progress: Progress) throws {
        switch file.content {
        case .keyed(let graph):
            var tree = GraphTree(graph, file.summary, output: output, progress: progress)
            try tree.print()
        case .typedstream(let graph):
            var tree = TypedStreamTree(graph, file.summary, output: output, progress: progress)
            try tree.print()
        case .nibArchive(let graph):
            var tree = GraphTree(graph.shown(), file.summary, output: output, progress: progress)
            try tree.print()
        }
    }
}
