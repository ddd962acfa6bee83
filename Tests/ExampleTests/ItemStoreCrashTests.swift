import Foundation
import TestSupport
import Testing

/// The files that ItemStore leaves when it is killed between writing an image and the list.
@Suite("ItemStore after a crash, and several at a time")
struct ItemStoreCrashTests {
    private let scratch: TemporaryFolder
    private let folder: String
    private let photo: String

    init() throws {
        scratch = try TemporaryFolder()
        folder = scratch.path("store")
        photo = scratch.path("photo")
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        try Data(repeating: 7, count: 100).write(to: URL(fileURLWithPath: photo))
    }

    private func run(_ words: [String]) async throws -> Program.Outcome {
        try await Program.run("ItemStore", ["--in", folder] + words, in: scratch)
    }

    /// Adds an item with the program, and returns its key.
    private func add(_ words: [String]) async throws -> String {
        let outcome = try await run(["add"] + words)
        #expect(outcome.status == 0, "\(outcome.errors)")
        return String(try #require(outcome.output.firstMatch(of: /added ([0-9A-F-]{36}):/)).1)
    }

    /// Runs the program, which the system kills when it writes a file larger than half a kilobyte: the list.
    private func runToItsDeath(_ words: [String]) async throws {
        let program = try builtProgram("ItemStore")
        let outcome = try await Program.run(
            "/bin/sh", ["-c", #"ulimit -c 0; ulimit -f 1; exec "$0" "$@""#, program, "--in", folder] + words,
            in: scratch)
        #expect(outcome.status == 128 + SIGXFSZ && outcome.output.isEmpty, "\(outcome.status): \(outcome.errors)")
    }

    /// The files in the folder, without temporary files of the list.
    private func names() throws -> Set<String> {
        Set(try FileManager.default.contentsOfDirectory(atPath: folder).filter { !$0.hasSuffix(".new") })
    }

    /// Makes a list larger than half a kilobyte, and returns the key of its one item with an image.
    private func fill() async throws -> String {
        let key = try await add(["Lamp", "A 1", "30", photo])
        for number in 0..<8 { _ = try await add(["Clock of the long now \(number)", "B \(number)", "45"]) }
        return key
    }

    @Test("The next change removes an image whose item was never listed, and no other file")
    func added() async throws {
        let key = try await fill()
        // Files with similar names that do not belong to the program.
        let foreign = UUID().uuidString
        for name in [foreign, "notes.pending"] {
            try Data([1]).write(to: URL(fileURLWithPath: "\(folder)/\(name)"))
        }
        try await runToItsDeath(["add", "Chair", "C", "1", photo])
        #expect(try names().count == 5, "the image is there")
        let list = try await run(["list"])
        #expect(list.status == 0 && !list.output.contains("Chair"))
        #expect(try names().count == 5, "looking changes nothing")
        _ = try await add(["Table", "T", "2"])
        #expect(try names() == ["items.archive", key, foreign, "notes.pending"])
    }

    @Test("The image of an item that is still listed is found, and the next change restores its name")
    func removed() async throws {
        let key = try await fill()
        try await runToItsDeath(["remove", key])
        #expect(try names() == ["items.archive", key + ".pending"])
        let shown = try await run(["show", key])
        #expect(shown.status == 0 && shown.output.hasSuffix("image: 100 bytes\n"), "\(shown.errors)")
        let listed = try await run(["list"])
        #expect(listed.output.contains(", with an image\n"))
        _ = try await add(["Table", "T", "2"])
        #expect(try names() == ["items.archive", key])
        let removed = try await run(["remove", key])
        #expect(removed.status == 0)
        #expect(try names() == ["items.archive"])
    }

    @Test("Without a readable list no image is changed")
    func brokenList() async throws {
        let pending = "\(folder)/\(UUID().uuidString).pending"
        for path in [pending, "\(folder)/items.archive"] { try Data([1]).write(to: URL(fileURLWithPath: path)) }
        let outcome = try await run(["add", "Table", "T", "2", photo])
        #expect(outcome.status == 1 && outcome.errors.contains("items.archive"), "\(outcome.errors)")
        #expect(try names().count == 2 && FileManager.default.fileExists(atPath: pending))
    }

    @Test("Several processes at once lose no items")
    func severalInItemStoreCrash() async throws {
        func start(_ number: Int) throws -> Program {
            try Program("ItemStore", ["--in", folder, "add", "Lamp \(number)", "A", "1", photo], in: scratch)
        }
        for (number, program) in try (0..<8).map(start).enumerated() {
            var outcome = try await program.finish()
            // On a busy machine the others may need more than the minute that it waits for them.
            while outcome.errors.contains("changing it for a minute") { outcome = try await start(number).finish() }
            #expect(outcome.status == 0, "\(outcome.errors)")
        }
        let list = try await run(["list"])
        #expect(list.output.hasSuffix("8 items, $8 in all\n"), "\(list.output)")
        #expect(list.output.split(separator: "\n").count { $0.hasSuffix(", with an image") } == 8)
        #expect(try names().count == 9)
    }
}
