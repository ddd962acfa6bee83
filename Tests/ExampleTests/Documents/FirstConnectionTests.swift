import Foundation
import TestSupport
import Testing

@Suite("The article “First connection”")
struct FirstConnectionTests {
    @Test("The commands print the output in the article")
    func session() async throws {
        let path = try #require(DocumentedCode.documents["FirstConnection.md"])
        let shown = try DocumentedCode.text(of: path).split(separator: "\n").filter { $0.hasPrefix("    ") }
            .map { $0.trimmingCharacters(in: .whitespaces) }
        let start = try #require(shown.firstIndex { $0.hasPrefix("$ echo") })
        let run = try #require(shown.firstIndex { $0.hasPrefix("$ swift run wordcount ") })
        let tool = try builtProgram("wordcount")
        let commands = shown[start...run].map {
            $0.dropFirst(2).replacingOccurrences(of: "swift run wordcount", with: "'\(tool)'")
        }
        let expected = shown[(run + 1)...].prefix { !$0.hasPrefix("$") }
        let scratch = try TemporaryFolder()
        let script = (["cd '\(scratch.path)'"] + commands).joined(separator: " && ")
        let outcome = try await Program.run("/bin/sh", ["-c", script], in: scratch)
        #expect(outcome.status == 0, "\(outcome.errors)")
        #expect(outcome.output.split(separator: "\n").map { String($0) } == Array(expected))
    }
}
