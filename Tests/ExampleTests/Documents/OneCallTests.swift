import Foundation
import Testing

@Suite("The article “The way of one call”")
struct OneCallTests {
    /// A line of the article's figures: a folder, and its types or a function.
    private struct Row {
        let folder: String
        /// The column where the rest begins.
        let indent: Int
        let rest: [String]
    }

    /// The rows of the first figure below a heading.
    private static func rows(below heading: String) throws -> [Row] {
        let path = try #require(DocumentedCode.documents["OneCall.md"])
        let lines = try DocumentedCode.text(of: path).split(separator: "\n", omittingEmptySubsequences: false)
        let start = try #require(lines.firstIndex { $0 == heading })
        let section = lines[start...].dropFirst().prefix { !$0.hasPrefix("## ") }
        return section.compactMap { line in
            guard let match = line.wholeMatch(of: #/    (?<folder>\w+)(?<gap> {2,})(?<rest>\S.*)/#) else { return nil }
            let names = match.rest.split(separator: "  ").first ?? ""
            return Row(
                folder: String(match.folder), indent: match.gap.count + match.folder.count,
                rest: names.split(separator: ", ").map { String($0) })
        }
    }

    /// The text of the Swift files in a folder of the module, or of another module, by file name.
    private static func sources(of folder: String) throws -> [String: String] {
        let places = ["Sources/DistantObjects/\(folder)/", "Sources/\(folder)/"]
        var texts: [String: String] = [:]
        for place in places where texts.isEmpty {
            for file in DocumentedCode.files(under: "Sources") where file.hasPrefix(place) && file.hasSuffix(".swift") {
                texts[(file as NSString).lastPathComponent] = try DocumentedCode.text(of: file)
            }
        }
        return texts
    }

    /// With Foundation's expressions: `Regex` needs a minute of processor time for these files in a debug build.
    private static func matches(_ text: String, _ pattern: String) -> Bool {
        text.range(of: pattern, options: .regularExpression) != nil
    }

    private static func declares(_ text: String, _ pattern: String) -> Bool {
        matches(text, "\\b\(pattern)\\b")
    }

    @Test("Each type of the figure is in the folder that the figure names")
    func figure() throws {
        let rows = try Self.rows(below: "## Overview")
        #expect(rows.count >= 12)
        for row in rows {
            let sources = try Self.sources(of: row.folder)
            #expect(!sources.isEmpty, "there is no folder \(row.folder)")
            for type in row.rest {
                let isDeclared = sources.values.contains {
                    Self.declares($0, "(class|struct|enum|protocol|actor|extension) \(type)")
                }
                #expect(isDeclared, "\(row.folder) has no \(type)")
            }
        }
    }

    @Test("Each type that the text names is declared")
    func namesInOneCall() throws {
        let path = try #require(DocumentedCode.documents["OneCall.md"])
        let files = DocumentedCode.files(under: "Sources").filter { $0.hasSuffix(".swift") }
        let sources = try files.map { try DocumentedCode.text(of: $0) }
        // Folders have names of the same form.
        let names = Set(try DocumentedCode.text(of: path).matches(of: #/`([A-Z]\w+)`/#).map { String($0.1) })
            .filter { name in !files.contains { $0.contains("/\(name)/") } }
        #expect(names.contains("PortCoder"))
        for name in names {
            let isDeclared = sources.contains {
                Self.declares($0, "(class|struct|enum|protocol|actor) \(name)")
            }
            #expect(isDeclared, "there is no \(name)")
        }
    }

    /// The files of a folder that declare a type, or a part of it.
    private static func files(of type: Substring, in folder: String) throws -> [String] {
        try sources(of: folder).filter { file, text in
            file == "\(type).swift" || file.hasPrefix("\(type)+") || declares(text, "extension \(type)")
        }.map(\.value)
    }

    @Test(
        "Each function of a list is in the folder that the list names, and is called by one above it",
        arguments: [("The sender's side", 25), ("The owner's side", 25), ("The way back", 12)])
    func functions(_ side: String, _ count: Int) throws {
        let rows = try Self.rows(below: "## \(side), function by function")
        #expect(rows.count >= count)
        for (index, row) in rows.enumerated() {
            let parts = try #require(row.rest.first).split(separator: ".")
            let (type, function) = (parts[0], parts[1])
            let declaration = function == "subscript" ? "public subscript" : "func \(function)"
            let isThere = try Self.files(of: type, in: row.folder).contains { Self.declares($0, declaration) }
            #expect(isThere, "\(row.folder) has no \(type).\(function)")
            guard row.indent > rows[0].indent else { continue }
            // A closure calls what it needs under the lock, so the call may be in a function further up.
            let isCalled = try rows[..<index].contains { caller in
                guard caller.indent < row.indent, let name = caller.rest.first else { return false }
                return try Self.files(of: name.prefix { $0 != "." }, in: caller.folder).contains { text in
                    // `\b` is no boundary at the dot of `shape.record`.
                    let others = text.replacingOccurrences(of: declaration, with: "")
                    return Self.matches(others, "[^A-Za-z0-9_]\(function)[ (]")
                }
            }
            #expect(isCalled, "nothing above \(type).\(function) calls it")
        }
    }

    @Test("The folder changes as often as the article says")
    func changesInOneCall() throws {
        let rows = try Self.rows(below: "## The sender's side, function by function")
        var changes = 0
        for (index, row) in rows.enumerated() {
            // A call into another folder and the return from it are one change.
            let caller = rows[..<index].last { $0.indent < row.indent }
            if let caller, caller.folder != row.folder { changes += 1 }
        }
        let path = try #require(DocumentedCode.documents["OneCall.md"])
        let stated = try DocumentedCode.text(of: path).firstMatch(of: #/the folder changes (\d+) times/#)
        #expect(stated.map { String($0.1) } == "\(changes)")
    }

    @Test(
        "The article lists exactly the files of a type that is in several",
        arguments: [("Connection", "Sources/DistantObjects/"), ("Channel", "Sources/PortTransport/")])
    func filesInOneCall(_ type: String, _ module: String) throws {
        let path = try #require(DocumentedCode.documents["OneCall.md"])
        let rows = try DocumentedCode.text(of: path).matches(of: #/(?m)^\| `((\w+)(?:\+\w+)?\.swift)` \| \S/#)
        let listed = rows.filter { $0.2 == type }.map { String($0.1) }
        let found = try DocumentedCode.files(under: module).filter { file in
            guard file.hasSuffix(".swift") else { return false }
            return try Self.matches(DocumentedCode.text(of: file), "(?m)^(\\w+ )*(class|extension) \(type)\\b")
        }.map { ($0 as NSString).lastPathComponent }
        #expect(!found.isEmpty && listed.count == Set(listed).count)
        #expect(Set(listed) == Set(found))
    }

    @Test("The list contains exactly the folders of the module")
    func folders() throws {
        let path = try #require(DocumentedCode.documents["OneCall.md"])
        let listed = try DocumentedCode.text(of: path).matches(of: #/(?m)^\| `(\w+)` \|/#).map { String($0.1) }
        // Those of the module, and those of `Conversation`.
        let found = DocumentedCode.files(under: "Sources/DistantObjects").flatMap { file -> [String] in
            let folders = file.split(separator: "/").dropFirst(2).dropLast().map { String($0) }
            guard let first = folders.first, !first.hasSuffix(".docc") else { return [] }
            return Array(folders.prefix(first == "Conversation" ? 2 : 1))
        }
        #expect(Set(listed) == Set(found))
    }
}
