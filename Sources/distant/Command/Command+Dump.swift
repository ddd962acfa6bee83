import KeyedArchive

extension Command {
    /// Prints archives, or one value of each; reports those that are bad, and goes on with the next.
    func dump(_ paths: [String], _ place: String?, _ asJSON: Bool) throws {
        guard paths.count > 1 else { return try dump(paths[0], place, asJSON, title: nil) }
        var isGood = true
        for (index, path) in paths.enumerated() {
            // JSON has no room for a title; the objects come in the order of the files.
            let title = asJSON ? nil : "\(index > 0 ? "\n" : "")==> \(PlainText.name(path)) <==\n"
            do { try dump(path, place, asJSON, title: title) } catch let error as FileError where error.path == path {
                isGood = false
                Console.complain("\(error)")
            }
        }
        guard isGood else { throw BadFiles() }
    }

    private func dump(_ path: String, _ place: String?, _ asJSON: Bool, title: String?) throws {
        let progress = Progress(for: 1)
        let file = try ArchiveFile(path, progress: progress)
        let output = ByteOutput(descriptor: 1, named: "standard output")
        if let title { output.append(title) }
        if let place {
            try print(place, of: file, to: output, asJSON, progress)
        } else {
            try print(file, to: output, asJSON, progress)
        }
        progress.finish()
        try output.flush()
    }

    /// Prints one value of an archive.
    private func print(
        _ place: String, of file: ArchiveFile, to output: ByteOutput, _ asJSON: Bool, _ progress: Progress
    ) throws {
        let graph: ArchivedGraph
        switch file.content {
        case .keyed(let content): graph = content
        case .nibArchive(let content): graph = content.shown()
        case .typedstream: throw FileError(file.path, "a typedstream has no keys, so --at leads nowhere in it")
        }
        do {
            let value = try ValuePath(place).value(in: graph)
            output.limit = GraphJSON.longest(fileSize: file.size)
            if asJSON {
                var json = GraphJSON(graph, output: output, progress: progress)
                try json.print(value)
            } else {
                var tree = GraphTree(graph, file.summary, output: output, progress: progress)
                try tree.print(value)
            }
        } catch let error as ValuePath.Missing {
            throw FileError(file.path, error.description)
        } catch is ByteOutput.TooLong {
            throw FileError(file.path, "the value would take more than \(output.limit) bytes")
        }
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
