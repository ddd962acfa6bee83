import Foundation
import Testing

@Suite("Words of the command line that are no text")
struct WordTests {
    /// Runs a program with the byte FF in a file's name.
    ///
    /// Nothing of Foundation's passes such on, a shell does.
    private static let script = #"exec "$0" "$@" "$(printf 'odd\377name')""#

    @Test(
        "A name that is not UTF-8 is refused, instead of being taken for another",
        arguments: [
            ("distant", ["dump"]), ("distant", ["convert", "--to", "xml", "in"]), ("distant", ["check"]),
            ("AppState", []),
            ("ItemStore", ["--in"]), ("Settings", ["--file"]), ("FooBarClient", ["--path"]),
            ("FooBarServer", ["--path"]),
        ])
    func names(program: String, words: [String]) async throws {
        let scratch = try Scratch()
        let path = try Program.url(program).path
        let outcome = try await Program.run("/bin/sh", ["-c", Self.script, path] + words, in: scratch)
        #expect(outcome.status == 2, "\(outcome.output)")
        #expect(outcome.output.isEmpty)
        #expect(outcome.errors.hasPrefix("\(program): “odd\u{FFFD}name” is no text in UTF-8"), "\(outcome.errors)")
        #expect(outcome.errors.contains("Usage: \(program)"))
    }
}
