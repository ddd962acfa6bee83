import Foundation
import TestSupport
import Testing

/// The code of the first guide as a reader types it, compiled from the text.
@Suite("The first guide's code in modules of both isolations", .bounded())
struct FirstGuideTests {
    private static let settings =
        ["ExistentialAny", "MemberImportVisibility", "InternalImportsByDefault", "NonisolatedNonsendingByDefault"]
        .flatMap { ["-enable-upcoming-feature", $0] }

    private let folder: TemporaryFolder
    /// The files of the three modules.
    private let values: [String]
    private let worker: String
    private let tool: String

    init() throws {
        folder = try TemporaryFolder()
        let code = try DocumentedCode.blocks(of: "FirstConnection.md").filter { !$0[0].hasPrefix("// swift-tools") }
        var files: [String] = []
        for (name, block) in zip(["WordCount", "Stop", "Interfaces", "Worker", "Tool"], code) {
            files.append(folder.path("\(name).swift"))
            try block.joined(separator: "\n").write(toFile: files.last ?? "", atomically: true, encoding: .utf8)
        }
        try #require(files.count == 5)
        (values, worker, tool) = (Array(files[..<3]), files[3], files[4])
    }

    private func compile(_ arguments: [String], _ isolation: [String]) async throws {
        let said = try await BuiltModules.compile(
            ["-parse-as-library", "-I", folder.path] + Self.settings + isolation + arguments)
        #expect(said == "")
    }

    /// Compiles the module that both programs import.
    private func compileValues(_ isolation: [String]) async throws {
        try await compile(
            [
                "-module-name", "WordCountValues", "-wmo", "-emit-object", "-emit-module", "-emit-module-path",
                folder.path("WordCountValues.swiftmodule"), "-o", folder.path("values.o"),
            ] + values, isolation)
    }

    @Test(
        "Each file compiles without a word, whether declarations are on the main actor by default or not",
        arguments: [[], ["-default-isolation", "MainActor"]])
    func compilesInMode(isolation: [String]) async throws {
        try await compileValues(isolation)
        for program in [worker, tool] { try await compile(["-typecheck", program], isolation) }
    }

    @Test(
        "The tool and its worker, with the main actor as default, count the words of files",
        .enabled(if: !Sanitizer.isActive, "the compiler would need the options of the build"))
    func runsInMainActorMode() async throws {
        let isolation = ["-default-isolation", "MainActor"]
        try await compileValues(isolation)
        let objects = try [folder.path("values.o")] + BuiltModules.objects
        try await compile([worker, "-o", folder.path("wordcount-worker")] + objects, isolation)
        try await compile([tool, "-o", folder.path("wordcount")] + objects, isolation)
        try "The quick brown fox jumps".write(toFile: folder.path("fox.txt"), atomically: true, encoding: .utf8)
        let outcome = try await Program.run(folder.path("wordcount"), [folder.path("fox.txt")], in: folder)
        #expect(outcome.status == 0, "\(outcome.errors)")
        #expect(outcome.output.hasSuffix("fox.txt: 5 words, the longest is quick\n5 words in all\n"))
        let failure = try await Program.run(folder.path("wordcount"), [folder.path("cat.txt")], in: folder)
        #expect(failure.status == 1)
        #expect(failure.errors.hasSuffix("cat.txt cannot be read\n"))
    }
}
