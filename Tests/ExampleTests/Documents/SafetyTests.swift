import Foundation
import Testing

/// A sentence of a document that promises safety, and what would find a violation.
private struct SafetyPromise: CustomTestStringConvertible {
    let document: String
    /// The words, as they stand in the document.
    let words: String
    /// The names of tests.
    let tests: [String]
    /// Targets of `Tests/Fuzz/run`.
    var fuzzers: [String] = []

    var testDescription: String { "\(document): \(words)" }

    private static let messages = [
        "The implementation does what the articles say", "A peer with nonsensical counters is refused",
        "A peer that stalls within a frame does not affect other connections",
        "Frames in the memory are checked by the same rules as those on the socket",
    ]
    private static let archives = [
        "An archive truncated anywhere is a thrown error",
        "An archive with one byte changed is read or refused, never a trap",
        "A changed byte or a missing end is an error or another graph, never a trap",
        "Counts beyond the bytes present throw before anything is allocated",
        "None of the broken archives takes more than 64 MiB", "Broken and hostile files end quickly with status 0 or 1",
    ]
    private static let classes = [
        "No archive ends the process, whatever class of Foundation it names and whatever it has for it",
        "No archive ends the process in a subclass that decodes with Foundation's code",
        "No archive of Foundation's objects ends the process, however it is changed",
        "No archive, real or broken, traps or hangs, whatever is decoded from it",
        "Each NSCoding class of the toolchain's Foundation is in the list of these tests",
    ]
    private static let memory = [
        "A peer that does not read its answers is cut off before they fill this side's memory",
        "No broken archive takes more than 64 MiB", "Output that would grow exponentially is limited, and reported",
    ]
    private static let fuzzers = [
        "CompactReader", "BinaryPlist", "XMLPlist", "FoundationDoor", "FrameReader", "Connection", "SharedMemory",
    ]

    static let all = [
        SafetyPromise(
            document: "README.md",
            words: "no input crashes or hangs a process, or makes it use memory without limit",
            tests: messages + archives + classes + memory, fuzzers: fuzzers),
        SafetyPromise(
            document: "SECURITY.md", words: "No input traps, overruns memory or the stack, or runs without end",
            tests: messages + archives + classes + memory, fuzzers: fuzzers),
        SafetyPromise(
            document: "CONTRIBUTING.md", words: "No input causes a trap, a hang, or unlimited memory use",
            tests: messages + archives + classes + memory, fuzzers: fuzzers),
        SafetyPromise(
            document: "Trust.md", words: "Nothing it sends crashes or hangs your process", tests: messages + memory,
            fuzzers: ["FrameReader", "Connection", "SharedMemory"]),
        SafetyPromise(
            document: "Trust.md", words: "opening a broken archive throws an error", tests: archives + classes,
            fuzzers: ["CompactReader", "BinaryPlist", "XMLPlist", "FoundationDoor"]),
        SafetyPromise(
            document: "Trust.md", words: "Every limit is checked before memory is allocated",
            tests: [
                "Counts beyond the bytes present throw before anything is allocated",
                "Each limit is enforced when writing and when reading",
            ]),
        SafetyPromise(
            document: "KeyedArchive.md", words: "bounds everything that is read before memory is allocated for it",
            tests: [
                "Counts beyond the bytes present throw before anything is allocated",
                "Each limit is enforced when writing and when reading",
            ]
                + archives),
        SafetyPromise(
            document: "FoundationCoding.md", words: "Nothing in an archive ends the program", tests: classes,
            fuzzers: ["FoundationDoor"]),
    ]
}

@Suite("Promises of safety")
struct SafetyTests {
    @Test("Each promise stands in its document, and the tests and fuzzers that it needs exist")
    func tested() throws {
        let sources = try DocumentedCode.files(under: "Tests").filter { $0.hasSuffix("Tests.swift") }
            .map { try DocumentedCode.text(of: $0) }
        let runner = try DocumentedCode.text(of: "Tests/Fuzz/run")
        for promise in SafetyPromise.all {
            let path = try #require(DocumentedCode.documents[promise.document])
            #expect(Self.flat(try DocumentedCode.text(of: path)).contains(promise.words), "\(promise.testDescription)")
            for test in promise.tests {
                #expect(sources.contains { $0.contains("\"\(test)\"") }, "there is no test “\(test)”")
            }
            for fuzzer in promise.fuzzers { #expect(runner.contains(fuzzer), "there is no fuzzer \(fuzzer)") }
        }
    }

    @Test("No document promises that nothing ends a program without being among them")
    func completeInSafety() throws {
        for (document, path) in DocumentedCode.documents where document != "Workarounds.md" {
            let text = Self.flat(try DocumentedCode.text(of: path))
            let sentences = text.split(whereSeparator: { ".:|".contains($0) })
            for sentence in sentences {
                let isPromise =
                    sentence.contains(
                        #/\b([Nn]o input|[Nn]othing|[Nn]ever)\b.*\b(crash|hang|trap|ends? (the|your|a) )/#)
                guard isPromise else { continue }
                let isListed = SafetyPromise.all.contains { $0.document == document && sentence.contains($0.words) }
                #expect(isListed, "\(document): \(sentence)")
            }
        }
    }

    /// The text without line breaks and marks of emphasis.
    private static func flat(_ text: String) -> String {
        text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    }
}
