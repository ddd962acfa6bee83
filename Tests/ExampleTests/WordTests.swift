import Foundation
import TestSupport
import Testing

@Suite("Command line words that are not UTF-8")
struct WordTests {
    /// Runs a program with the byte FF in a file name.
    ///
    /// It runs through a shell, because Foundation cannot pass such a name.
    private static let script = #"exec "$0" "$@" "$(printf 'odd\377name')""#

    @Test(
        "A name that is not UTF-8 is refused",
        arguments: [
            ("distant", ["dump"]), ("distant", ["convert", "--to", "xml", "in"]), ("distant", ["check"]),
            ("AppState", []),
            ("ItemStore", ["--in"]), ("Settings", ["--file"]), ("FooBarClient", ["--path"]),
            ("FooBarServer", ["--path"]),
        ])
    func namesInWord(program: String, words: [String]) async throws {
        let scratch = try TemporaryFolder()
        let path = try builtProgram(program)
        let outcome = try await Program.run("/bin/sh", ["-c", Self.script, path] + words, in: scratch)
        #expect(outcome.status == 2, "\(outcome.output)")
        #expect(outcome.output.isEmpty)
        #expect(outcome.errors.hasPrefix("\(program): “odd\u{FFFD}name” is not text in UTF-8"), "\(outcome.errors)")
        #expect(outcome.errors.hasSuffix("; see \(program) --help\n"))
    }
}
