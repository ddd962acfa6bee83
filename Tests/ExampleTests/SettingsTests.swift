import Foundation
import KeyedArchive
import TestSupport
import Testing

@Suite("Settings has defaults, saves changes, and reads older files")
struct SettingsTests {
    private let scratch: TemporaryFolder
    private let path: String

    init() throws {
        scratch = try TemporaryFolder()
        path = scratch.path("settings.dat")
    }

    private func run(_ arguments: String...) async throws -> Program.Outcome {
        try await Program.run("Settings", ["--file", path] + arguments, in: scratch)
    }

    private let defaults = """
        area: 008
        lhour: 2
        primeTimeFrom: 19:00
        primeTimeTo: 23:00
        keywordHistory: empty
        orderOfViewControllers: not set
        channelsPerPage: 12

        """

    @Test("Without a file the defaults are shown, and no file is made")
    func missingInSettings() async throws {
        let outcome = try await run()
        #expect(outcome.status == 0 && outcome.output == defaults, "\(outcome.errors)")
        #expect(!FileManager.default.fileExists(atPath: path))
    }

    @Test("Changes are saved")
    func changesInSettings() async throws {
        for words in [
            ["set", "area", "030"], ["set", "lhour", "5"], ["set", "primeTimeTo", "22:30"], ["order", "Search", "Now"],
            ["search", "news"], ["search", "films"], ["search", "news"],
        ] {
            let outcome = try await Program.run("Settings", ["--file", path] + words, in: scratch)
            #expect(outcome.status == 0, "\(words): \(outcome.errors)")
        }
        let shown = try await run("show")
        #expect(
            shown.output == """
                area: 030
                lhour: 5
                primeTimeFrom: 19:00
                primeTimeTo: 22:30
                keywordHistory: news, films
                orderOfViewControllers: Search, Now
                channelsPerPage: 12

                """)
        #expect(try KeyedUnarchiver(contentsOf: URL(fileURLWithPath: path)).keys == ["settings"])
        let forgotten = try await run("order")
        #expect(forgotten.output.contains("orderOfViewControllers: not set"))
    }

    @Test("The history keeps ten words")
    func history() async throws {
        for number in 1...12 {
            let outcome = try await run("search", "w\(number)")
            #expect(outcome.status == 0, "\(outcome.errors)")
        }
        let shown = try await run()
        #expect(shown.output.contains("keywordHistory: w12, w11, w10, w9, w8, w7, w6, w5, w4, w3\n"))
    }

    /// The settings in the form of the previous version.
    private final class Older: ObjectCoding {
        static var className: String { "Settings" }

        init() {}

        init(coder: ObjectDecoder) throws {}

        func encode(with coder: ObjectEncoder) throws {
            try coder.encode("040", forKey: "area")
            try coder.encode(1, forKey: "lhour")
            try coder.encode("20:00", forKey: "primeTimeFrom")
            try coder.encode("22:00", forKey: "primeTimeTo")
            try coder.encode(["old"], forKey: "keywordHistory")
            try coder.encode(["One"], forKey: "orderOfViewControllers")
        }
    }

    @Test(
        "A file of an older version is read, and new settings have their defaults",
        arguments: [ArchiveFormat.binary, .compact])
    func olderInSettings(format: ArchiveFormat) async throws {
        let archiver = KeyedArchiver(format: format)
        try archiver.encode(Older(), forKey: "settings")
        try archiver.finish(to: URL(fileURLWithPath: path))
        let shown = try await run()
        #expect(shown.status == 0, "\(shown.errors)")
        #expect(
            shown.output == """
                area: 040
                lhour: 1
                primeTimeFrom: 20:00
                primeTimeTo: 22:00
                keywordHistory: old
                orderOfViewControllers: One
                channelsPerPage: 12

                """)
        let changed = try await run("set", "channelsPerPage", "6")
        #expect(changed.output.contains("channelsPerPage: 6"))
        let again = try await run()
        #expect(again.output == changed.output)
    }

    /// Settings of another program, with some keys missing or nil.
    private final class Foreign: ObjectCoding {
        static var className: String { "Settings" }
        var isEmpty = true

        init(isEmpty: Bool) { self.isEmpty = isEmpty }

        init(coder: ObjectDecoder) throws {}

        func encode(with coder: ObjectEncoder) throws {
            if isEmpty { return }
            try coder.encode(String?.none, forKey: "area")
            try coder.encode(String?.none, forKey: "primeTimeTo")
            try coder.encode([String]?.none, forKey: "keywordHistory")
        }
    }

    @Test(
        "Keys that a file lacks have their defaults, and a stored nil is kept",
        arguments: [ArchiveFormat.xml, .compact])
    func foreignInSettings(format: ArchiveFormat) async throws {
        let url = URL(fileURLWithPath: path)
        for isEmpty in [true, false] {
            let archiver = KeyedArchiver(format: format)
            try archiver.encode(Foreign(isEmpty: isEmpty), forKey: "settings")
            try archiver.finish(to: url)
            var expected = defaults
            if !isEmpty {
                expected.replace("area: 008", with: "area: not set")
                expected.replace("primeTimeTo: 23:00", with: "primeTimeTo: not set")
            }
            let shown = try await run()
            #expect(shown.status == 0 && shown.output == expected, "\(shown.errors)")
        }
    }

    @Test("An unset value stays unset")
    func unset() async throws {
        for key in ["area", "primeTimeFrom"] { #expect(try await run("unset", key).status == 0) }
        let shown = try await run()
        #expect(shown.output.contains("area: not set\n") && shown.output.contains("primeTimeFrom: not set\n"))
        #expect(shown.output.contains("primeTimeTo: 23:00\n"))
        let number = try await run("unset", "lhour")
        #expect(number.status == 2 && number.errors.contains("“lhour” cannot be unset"), "\(number.errors)")
    }

    @Test("A broken file and wrong usage are reported, and the file is not changed")
    func failuresInSettings() async throws {
        try Data("broken".utf8).write(to: URL(fileURLWithPath: path))
        let broken = try await run("set", "area", "1")
        #expect(broken.status == 1 && broken.errors.contains(path), "\(broken.errors)")
        #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == Data("broken".utf8))
        try KeyedArchiver.archive(["a": 1], to: URL(fileURLWithPath: path))
        let foreign = try await run()
        #expect(foreign.status == 1 && foreign.errors.contains(path), "\(foreign.errors)")
        #expect(foreign.errors.contains("holds no settings") && foreign.errors.split(separator: "\n").count == 1)
        try FileManager.default.removeItem(atPath: path)
        for words in [["set", "lhour", "two"], ["set", "colour", "red"], ["set"], ["what"]] {
            let usage = try await Program.run("Settings", ["--file", path] + words, in: scratch)
            #expect(usage.status == 2 && usage.errors.hasSuffix("; see Settings --help\n"), "\(words)")
        }
        #expect(!FileManager.default.fileExists(atPath: path))
    }
}
