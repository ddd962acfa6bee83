import DistantObjects
import Foundation
import TestSupport
import Testing

@Suite("The code in the README and the articles")
struct DocumentTests {
    /// A package's manifest or a part of one, which only the package manager compiles.
    private static func isManifest(_ block: DocumentedCode.Lines) -> Bool {
        block.contains { $0.hasPrefix("dependencies:") }
    }

    @Test("Each code block is compiled unchanged", arguments: DocumentedCode.documents.keys.sorted())
    func compiled(document: String) throws {
        let compiled = DocumentedCode.pieces[document, default: [:]].values
        for block in try DocumentedCode.blocks(of: document) where !Self.isManifest(block) {
            #expect(compiled.contains(block), "not compiled as it stands:\n\(block.joined(separator: "\n"))")
        }
    }

    @Test("Each piece that a source file marks is in the document", arguments: DocumentedCode.pieces.keys.sorted())
    func shown(document: String) throws {
        let shown = try DocumentedCode.blocks(of: document)
        for (name, lines) in DocumentedCode.pieces[document, default: [:]] {
            #expect(shown.contains(lines), "\(document) does not show “\(name)”:\n\(lines.joined(separator: "\n"))")
        }
    }

    @Test("Each file that a document names or links to exists", arguments: DocumentedCode.documents.keys.sorted())
    func pathsInDocument(document: String) throws {
        let path = try #require(DocumentedCode.documents[document])
        let text = try DocumentedCode.text(of: path)
        let folder = (path as NSString).deletingLastPathComponent
        let named = text.matches(of: #/`((?:Sources|Tests|Examples|\.ci|\.github)\/[\w+.\/-]+)/#).map { String($0.1) }
        let linked = text.matches(of: #/\]\((?!https?:)([^)#]+)(?:#[^)]*)?\)/#)
            .map { (folder as NSString).appendingPathComponent(String($0.1)) }
        // The first guide has a package of its own.
        for file in named + linked where document != "FirstConnection.md" {
            let place = (DocumentedCode.root as NSString).appendingPathComponent(file)
            #expect(FileManager.default.fileExists(atPath: place), "\(document) names \(file)")
        }
    }

    @Test("The table of errors names each code, and says of each whether the call may have run")
    func codesInDocument() throws {
        let source = try DocumentedCode.text(of: "Sources/DistantObjects/Errors/ConnectionError.swift")
        let declared = source.matches(of: #/static let (\w+) = Self\(rawValue: "(\w+)"\)/#).map { String($0.2) }
        #expect(declared.count > 20)
        let path = try #require(DocumentedCode.documents["Failures.md"])
        var answers: [String: Substring] = [:]
        for row in try DocumentedCode.text(of: path).matches(of: #/\n\| (`[a-z].*?) \| (.*?) \|/#) {
            for code in row.1.matches(of: #/`(\w+)`/#) { answers[String(code.1)] = row.2 }
        }
        for code in declared {
            let answer = try #require(answers[code], "Failures.md does not name \(code)")
            let hasRun = answer.prefixMatch(of: #/no\b/#) == nil
            #expect(ConnectionError(.init(rawValue: code), "").isSafeToRetry == !hasRun, "\(code): \(answer)")
        }
        #expect(answers.keys.filter { !declared.contains($0) } == [])
    }

    @Test(
        "The package manager accepts each manifest",
        arguments: try DocumentedCode.documents.keys.sorted().flatMap { document in
            try DocumentedCode.blocks(of: document).filter(Self.isManifest)
        })
    func manifest(block: DocumentedCode.Lines) async throws {
        let scratch = try TemporaryFolder()
        let part = [
            "// swift-tools-version: 6.3", "import PackageDescription", "let package = Package(", "name: \"tool\",",
        ]
        let isWhole = block[0].hasPrefix("// swift-tools-version")
        let text = (isWhole ? block : part + block + [")"]).joined(separator: "\n")
        try text.write(toFile: scratch.path("Package.swift"), atomically: true, encoding: .utf8)
        let outcome = try await Program.run(
            "/usr/bin/env",
            [
                "swift", "package", "--package-path", scratch.path, "--scratch-path", scratch.path("build"),
                "--disable-sandbox", "dump-package",
            ], in: scratch)
        #expect(outcome.status == 0, "\(outcome.errors)")
        #expect(outcome.output.contains("\"DistantObjects\""))
    }
}
