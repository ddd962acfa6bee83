import Foundation

/// The Swift code in a document, and the same code in a compiled source file.
///
/// A source file marks each piece with a line `// README.md: receiver`, which names the document and what is shown, and
/// ends it with a line `// end`. Pieces of one name stand in the document one below the other. Indentation and empty
/// lines do not count: a document shows as top-level code what is a function in the source.
enum DocumentedCode {
    /// Lines without their indentation, none of them empty.
    typealias Lines = [String]

    /// The paths of the README, related documents and every article, by file name.
    ///
    /// Without the pages of the interface, which are written from the sources.
    static let documents: [String: String] = {
        let articles = (files(under: "Sources") + files(under: ".github"))
            .filter { $0.hasSuffix(".md") && !$0.hasPrefix(".github/reference/") }
        return Dictionary(grouping: articles + ["README.md"]) { ($0 as NSString).lastPathComponent }
            .mapValues { paths in
                precondition(paths.count == 1, "documents of one name: \(paths)")
                return paths[0]
            }
    }()

    /// The source files that may have marks: the examples, and those in this folder.
    static let sources = (files(under: "Examples") + files(under: "Tests/ExampleTests/Documents"))
        .filter { $0.hasSuffix(".swift") && !$0.hasSuffix("/DocumentedCode.swift") }

    /// The code blocks of a document.
    static func blocks(of document: String) throws -> [Lines] {
        var blocks: [Lines] = []
        var open: Lines?
        for line in try lines(of: documents[document] ?? document) {
            switch (line, open) {
            case ("```swift", nil): open = []
            case ("```", let block?):
                blocks.append(block)
                open = nil
            case (_, var block?):
                if !line.isEmpty { block.append(line) }
                open = block
            case (_, nil): break
            }
        }
        return blocks
    }

    /// The marked pieces of the source files, by document and name.
    static let pieces: [String: [String: Lines]] = {
        var pieces: [String: [String: Lines]] = [:]
        for source in sources {
            var mark: (document: String, name: String)?
            for line in (try? lines(of: source)) ?? [] {
                if let found = line.wholeMatch(of: #/\/\/ (?<document>\w+\.md): (?<name>.+)/#) {
                    mark = (String(found.document), String(found.name))
                } else if line == "// end" {
                    mark = nil
                } else if let mark, !line.isEmpty {
                    pieces[mark.document, default: [:]][mark.name, default: []].append(line)
                }
            }
        }
        return pieces
    }()

    /// The folder of the package.
    static let root = URL(fileURLWithPath: #filePath).pathComponents.dropLast(4).joined(separator: "/")

    static func text(of path: String) throws -> String {
        try String(contentsOfFile: root + "/" + path, encoding: .utf8)
    }

    private static func lines(of path: String) throws -> Lines {
        try text(of: path).split(separator: "\n", omittingEmptySubsequences: false)
            .map { $0.trimmingCharacters(in: .whitespaces) }
    }

    /// The files in a folder and those below it, by their paths from the package's folder, without what was built there.
    static func files(under folder: String) -> [String] {
        guard let contents = FileManager.default.enumerator(atPath: root + "/" + folder) else { return [] }
        var files: [String] = []
        while let path = contents.nextObject() as? String {
            if path.hasPrefix(".build") || path.contains("/.build") {
                contents.skipDescendants()
            } else {
                files.append("\(folder)/\(path)")
            }
        }
        return files.sorted()
    }
}
