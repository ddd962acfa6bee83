package import Foundation

/// Where the tests get archives from that were not made by the test itself.
///
/// Those that others wrote are kept outside of the repository: at the path in the environment variable `DISTANT_FIXTURES`,
/// else at `../shared/fixtures`. Where they are not, or that variable is `own`, archives take their place that the
/// repository's own archivers make, of the same kinds and with the same content where a test asks for it.
package enum Fixtures {
    /// An archive, or something like one.
    package struct Archive: Sendable {
        package let name: String
        package let bytes: [UInt8]

        package var data: Data { Data(bytes) }
    }

    /// An archive that opens, and what others found in it.
    package struct Real: Sendable {
        package let archive: Archive
        package let objectCount: Int
        /// The keys at the top, sorted.
        package let topKeys: [String]

        package var name: String { archive.name }
        package var bytes: [UInt8] { archive.bytes }
    }

    /// They are not where they are required to be.
    package struct Missing: Error {}

    private static var isOwnChosen: Bool { ProcessInfo.processInfo.environment["DISTANT_FIXTURES"] == "own" }

    /// The folder of the archives of others; nil if they are not here.
    private static let directory: URL? = {
        let environment = ProcessInfo.processInfo.environment
        if isOwnChosen { return nil }
        var package = URL(fileURLWithPath: #filePath)
        for _ in 0..<4 { package.deleteLastPathComponent() }
        return [
            environment["DISTANT_FIXTURES"].map { URL(fileURLWithPath: $0) },
            package.appending(path: "shared/fixtures"),
        ]
        .compactMap { $0?.appending(path: "archives") }
        .first { FileManager.default.fileExists(atPath: $0.appending(path: "real.tsv").path) }
    }()

    /// Whether the archives are those that others wrote.
    package static var areOfOthers: Bool { directory != nil }

    private static func folder() throws -> URL? {
        let isRequired = ProcessInfo.processInfo.environment["DISTANT_FIXTURES_REQUIRED"] != nil
        if directory == nil && isRequired && !isOwnChosen { throw Missing() }
        return directory
    }

    // MARK: Archives

    /// Archives that open.
    package static func real() throws -> [Real] {
        guard let folder = try folder() else { return try OwnArchives.all.get().map(\.real) }
        return try rows("real.tsv").map { columns in
            Real(
                archive: try archive(folder, "real", columns[0]), objectCount: Int(columns[9]) ?? -1,
                topKeys: columns[11].split(separator: ";").map(String.init).sorted())
        }
    }

    /// The one of them whose name has such a part.
    package static func real(named part: String) throws -> Archive {
        guard let found = try real().first(where: { $0.name.contains(part) }) else { throw Missing() }
        return found.archive
    }

    /// Some of them, with their content as a text that no reader of ours made.
    package static func expected() throws -> [(archive: Archive, text: String)] {
        guard let folder = try folder() else {
            return try OwnArchives.all.get().compactMap { own in own.text.map { (own.real.archive, $0) } }
        }
        return try rows("expected.tsv").map { (try archive(folder, "real", $0[0]), $0[1]) }
    }

    /// Broken and hostile archives, and a few that only look so.
    package static func malformed() throws -> [Archive] {
        guard let folder = try folder() else { return try BrokenArchives.all.get() }
        return try rows("malformed.tsv").map { try archive(folder, "malformed", $0[0]) }
    }

    // MARK: Archives of Apple's older archivers

    /// Typedstreams that open, of applications and made for tests.
    package static func typedstreams() throws -> [Archive] {
        guard let folder = try folder() else { return TypedStreamBytes.good.map(Archive.init) }
        return try
            (["typedstream", "made"].flatMap { try files(folder, $0, ending: ".ts") }
            + files(folder, "malformed", ending: ".ts").filter { $0.name.hasPrefix("odd-") })
            .filter { !$0.name.contains(damaged) }
    }

    /// Typedstreams that break a rule of the format.
    package static func brokenTypedstreams() throws -> [Archive] {
        guard let folder = try folder() else { return TypedStreamBytes.broken.map(Archive.init) }
        // Values that take no bytes are allowed, in any number.
        return try files(folder, "malformed", ending: ".ts").filter {
            $0.name.hasPrefix("bad-") && !$0.name.contains("of-nothing") && !$0.name.contains("of-empty-structs")
        } + files(folder, "typedstream", ending: ".ts").filter { $0.name.contains(damaged) }
    }

    /// NIBArchives that open, of applications and made for tests.
    package static func nibArchives() throws -> [Archive] {
        guard let folder = try folder() else { return NIBArchiveBytes.good.map(Archive.init) }
        return try ["nibarchive", "made"].flatMap { try files(folder, $0, ending: ".nib") }
            + files(folder, "malformed", ending: ".nib").filter { $0.name.hasPrefix("odd-") }
    }

    /// NIBArchives that break a rule of the format.
    package static func brokenNIBArchives() throws -> [Archive] {
        guard let folder = try folder() else { return NIBArchiveBytes.broken.map(Archive.init) }
        return try files(folder, "malformed", ending: ".nib").filter { $0.name.hasPrefix("bad-") }
    }

    /// One that the tests of another reader contain, where a string has lost its length.
    private static let damaged = "attributedBody__5f705d"

    private static func files(_ directory: URL, _ folder: String, ending: String) throws -> [Archive] {
        let old = directory.appending(path: "old/\(folder)")
        return try FileManager.default.contentsOfDirectory(atPath: old.path).sorted().filter { $0.hasSuffix(ending) }
            .map { Archive(name: $0, bytes: Array(try Data(contentsOf: old.appending(path: $0)))) }
    }

    /// How many there are; of our own, no fewer than so many.
    package static func isCount(_ count: Int, ofOthers others: Int, own: Int) -> Bool {
        areOfOthers ? count == others : count >= own
    }

    /// Writes archives into a folder, each under its name; their paths, sorted.
    package static func write(_ archives: [Archive], into folder: String) throws -> [String] {
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        return try archives.map {
            let path = "\(folder)/\($0.name)"
            try $0.data.write(to: URL(fileURLWithPath: path))
            return path
        }.sorted()
    }

    // MARK: Files

    /// The rows of a table, without its heading.
    private static func rows(_ name: String) throws -> [[String]] {
        guard let directory else { return [] }
        let text = try String(contentsOf: directory.appending(path: name), encoding: .utf8)
        return text.split(separator: "\n").dropFirst().map {
            $0.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
        }
    }

    private static func archive(_ directory: URL, _ folder: String, _ file: String) throws -> Archive {
        Archive(name: file, bytes: Array(try Data(contentsOf: directory.appending(path: "\(folder)/\(file)"))))
    }
}
