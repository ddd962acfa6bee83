import Foundation
import Testing

@Suite("Output that nobody gets")
struct LostOutputTests {
    @Test(
        "Where standard output cannot be written, a program says so and fails",
        .enabled(if: FileManager.default.fileExists(atPath: "/dev/full")),
        arguments: [
            ("FooBarClient", []), ("AppState", []), ("ItemStore", ["list"]), ("Settings", []),
            ("FooBarClient", ["--help"]), ("distant", ["--help"]),
        ])
    func full(program: String, words: [String]) async throws {
        let scratch = try Scratch()
        let script = #"cd "$0" && exec "$@" > /dev/full"#
        let outcome = try await Program.run(
            "/bin/sh", ["-c", script, scratch.path(""), try Program.url(program).path] + words, in: scratch)
        #expect(outcome.status == 1, "\(outcome.status)")
        #expect(outcome.errors.contains("\(program): standard output"), "\(outcome.errors)")
    }
}
