import Foundation

/// The Swift code that a document shows, and the same code where the tests compile it.
///
/// A source file marks each piece with a line `// README.md: receiver`, which names the document and what is shown, and ends
/// it with a line `// end`. Pieces of one name stand in the document one below the other. Indentation and empty lines do not
/// count: a document shows as top-level code what is a function here.
enum DocumentedCode {
    /// Lines without their indentation, none of them empty.
    typealias Lines = [String]

    /// What the document shows, block by block.
    static func blocks(of document: String) throws -> [Lines] {
        var blocks: [Lines] = []
        var open: Lines?
        for line in try lines(of: root + "/" + document) {
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

    /// What the source file has of the document, by name.
    static func pieces(of document: String, in source: String) throws -> [String: Lines] {
        var pieces: [String: Lines] = [:]
        var name: String?
        let mark = "// \(document): "
        for line in try lines(of: source) {
            if line.hasPrefix(mark) {
                name = String(line.dropFirst(mark.count))
            } else if line == "// end" {
                name = nil
            } else if let name, !line.isEmpty {
                pieces[name, default: []].append(line)
            }
        }
        return pieces
    }

    /// The folder of the package.
    static let root = URL(fileURLWithPath: #filePath).pathComponents.dropLast(4).joined(separator: "/")

    private static func lines(of path: String) throws -> Lines {
        try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n", omittingEmptySubsequences: false)
            .map { $0.trimmingCharacters(in: .whitespaces) }
    }
}
