import KeyedArchive

extension Command {
    func convert(_ source: String, _ target: String, _ format: Target, isKeyed: Bool) throws {
        // Nothing else is printed to the terminal.
        let progress = Progress(for: nil)
        let file = try ArchiveFile(source, json: format.readsJSON, progress: progress)
        let replacement = try ReplacementFile(target)
        defer { replacement.discard() }
        let output = ByteOutput(descriptor: replacement.descriptor, named: target)
        switch format {
        case .json: try print(file, to: output, true, progress)
        case .archive(let format):
            progress.show("writing \(target)")
            do {
                try write(file, as: format, isKeyed: isKeyed) {
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

    private func write(
        _ file: ArchiveFile, as format: ArchiveFormat, isKeyed: Bool,
        to receiver: (UnsafeRawBufferPointer) throws -> Void
    ) throws {
        guard !isKeyed else {
            guard case .typedstream(let stream) = file.content else {
                throw ArchiveError(.unsupported, "--keyed is for typedstreams only")
            }
            return try KeyedTranslation.graph(of: stream).write(
                format: format, limits: ArchiveFile.limits, to: receiver)
        }
        switch (file.content, format) {
        case (.keyed(let graph), .typedstream):
            try TypedStreamGraph(SequentialTranslation.bytes(of: graph), limits: ArchiveFile.limits).write(to: receiver)
        case (.keyed(let graph), _):
            try graph.write(format: format, limits: ArchiveFile.limits, to: receiver)
        case (.typedstream(let graph), .typedstream): try graph.write(to: receiver)
        case (.nibArchive, .binary), (.nibArchive, .xml), (.typedstream, .binary), (.typedstream, .xml):
            let json = ByteOutput(descriptor: nil, named: file.path)
            json.limit = PropertyListJSON.longest(fileSize: file.size)
            try print(file, to: json, true, Progress(for: nil))
            try json.flush()
            try PropertyListJSON.write(
                json.memory, isXML: format == .xml, limits: ArchiveFile.limits, to: receiver)
        case (.nibArchive, _): throw ArchiveError(.unsupported, "a NIBArchive becomes binary, xml or json only")
        case (.typedstream, _):
            throw ArchiveError(.unsupported, "a typedstream becomes typedstream, binary, xml or json only")
        }
    }
}
