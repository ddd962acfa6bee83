import Foundation
import Testing

/// A command that a document shows, in the order in which a reader runs them.
///
/// It stands in a console block, a block that is indented by four spaces, and begins with the name of a program; with “$ ” in
/// front the lines below it are its output. Or it stands in the text, as `swift run` with a program.
struct DocumentedCommand: Sendable, Hashable, CustomTestStringConvertible {
    let document: String
    let text: String
    /// What it prints; nil if the document does not say.
    var output: [String]?

    var testDescription: String { "\(document): \(text)" }

    private static func isCommand(_ line: Substring) -> Bool {
        line.prefixMatch(of: #/(?:swift|distant|python3|sqlite3) |(?:\.ci|Tests)\/[a-zA-Z\/]+(?: |$)/#) != nil
    }

    /// The commands of a document.
    static func all(in document: String) throws -> [DocumentedCommand] {
        let path = try #require(DocumentedCode.documents[document])
        var commands: [DocumentedCommand] = []
        var isCode = false
        var session: DocumentedCommand?
        for line in try DocumentedCode.text(of: path).split(separator: "\n", omittingEmptySubsequences: false) {
            if line.hasPrefix("```") { isCode.toggle() }
            if isCode { continue }
            guard line.hasPrefix("    "), !line.hasPrefix("     ") || session != nil else {
                if let session { commands.append(session) }
                session = nil
                let spans = line.matches(of: #/`(swift run [^`]+)`/#)
                commands += spans.map { DocumentedCommand(document: document, text: String($0.1)) }
                continue
            }
            let content = line.dropFirst(4)
            if content.hasPrefix("$ ") {
                if let session { commands.append(session) }
                session = DocumentedCommand(document: document, text: String(content.dropFirst(2)), output: [])
            } else if session != nil {
                session?.output?.append(String(content))
            } else if isCommand(content) {
                commands.append(DocumentedCommand(document: document, text: String(content)))
            }
        }
        if let session { commands.append(session) }
        return commands
    }

    /// The command for a shell, with the programs of this build in the place of those that `swift run` would build.
    func shell(program: (String) throws -> String) rethrows -> String {
        var text = text
        while let match = text.firstMatch(of: #/swift run (?<name>[a-zA-Z]\S*)/#) {
            text.replaceSubrange(match.range, with: "'\(try program(String(match.name)))'")
        }
        return text
    }
}
