import Foundation
import TestSupport
import Testing

@Suite("Failures of wordcount")
struct WordCountTests {
    private let scratch: TemporaryFolder
    private var tool: String { scratch.path("wordcount") }
    private var text: String { scratch.path("text") }

    /// A copy of the tool in a folder without its worker.
    init() async throws {
        scratch = try TemporaryFolder()
        try "one two".write(toFile: text, atomically: true, encoding: .utf8)
        try await make(#"cp "$1" "$2""#, [try builtProgram("wordcount"), tool])
    }

    /// Makes a program by a shell: one that this process has written may be open in a child that another test starts.
    private func make(_ script: String, _ words: [String]) async throws {
        let outcome = try await Program.run("/bin/sh", ["-c", script, "sh"] + words, in: scratch)
        try #require(outcome.status == 0, "\(outcome.errors)")
    }

    private func placeWorker(_ script: String) async throws {
        let write = #"printf '#!/bin/sh\n%s\n' "$1" >"$2" && chmod 700 "$2""#
        try await make(write, [script, scratch.path("wordcount-worker")])
    }

    private func expectFailure(_ sentence: String) async throws {
        var outcome = try await Program.run(tool, [text], in: scratch)
        // The library waits half a second for the status of the worker. On a busy machine that takes longer, and is not told.
        while outcome.status == 1, sentence.contains("ended"), !outcome.errors.contains("program") {
            outcome = try await Program.run(tool, [text], in: scratch)
        }
        #expect(outcome.status == 1 && outcome.output.isEmpty, "\(outcome)")
        #expect(outcome.errors == "wordcount: wordcount-worker: \(sentence)\n")
    }

    @Test("Without the worker's program, the error says where it was looked for")
    func missingInWordCount() async throws {
        try await expectFailure("there is no such program in \(scratch.path)/, where this program is")
    }

    @Test("If the worker ends before it is connected, the error says how")
    func endedInWordCount() async throws {
        try await placeWorker("exit 3")
        try await expectFailure("the program ended with status 3 before it was connected with Connection.parent()")
        try await placeWorker("kill -9 $$")
        try await expectFailure(
            "the program was ended by signal 9 (SIGKILL) before it was connected with Connection.parent()")
    }

    @Test("A file that cannot be read is named in one line, after the files before it")
    func unreadable() async throws {
        let outcome = try await Program.run("wordcount", [text, scratch.path("none"), text], in: scratch)
        #expect(outcome.status == 1)
        #expect(outcome.output == "\(text): 2 words, the longest is one\n")
        #expect(outcome.errors == "wordcount: \(scratch.path("none")) cannot be read\n")
    }
}
