import Foundation
import Testing

/// Archives that others wrote, which are kept outside of the repository.
///
/// They are looked for at the path in the environment variable `DISTANT_FIXTURES`, else at `../shared/fixtures`.
enum Fixtures {
    static let directory: URL? = {
        var package = URL(fileURLWithPath: #filePath)
        for _ in 0..<4 { package.deleteLastPathComponent() }
        var places: [URL] = []
        if let path = ProcessInfo.processInfo.environment["DISTANT_FIXTURES"] {
            places.append(URL(fileURLWithPath: path))
        }
        places.append(package.deletingLastPathComponent().appendingPathComponent("shared/fixtures"))
        return places.map { $0.appendingPathComponent("archives") }
            .first { FileManager.default.fileExists(atPath: $0.appendingPathComponent("real.tsv").path) }
    }()

    /// Where they have to be here, tests of them are not skipped but fail.
    static var areThere: Bool {
        directory != nil || ProcessInfo.processInfo.environment["DISTANT_FIXTURES_REQUIRED"] != nil
    }

    static let comment: Comment =
        "the archives of others are not here: set DISTANT_FIXTURES to the directory that holds archives/real.tsv"

    /// The paths of all files in a folder, sorted.
    static func paths(_ folder: String) throws -> [String] {
        guard let folder = directory?.appendingPathComponent(folder).path else { return [] }
        return try FileManager.default.contentsOfDirectory(atPath: folder).sorted().map { "\(folder)/\($0)" }
    }

    /// The number of objects of each real archive, by the name of the file.
    static func objectCounts() throws -> [String: Int] {
        guard let directory else { return [:] }
        let text = try String(contentsOf: directory.appendingPathComponent("real.tsv"), encoding: .utf8)
        let rows = text.split(separator: "\n").dropFirst().map {
            $0.split(separator: "\t", omittingEmptySubsequences: false)
        }
        return Dictionary(uniqueKeysWithValues: rows.map { (String($0[0]), Int($0[9]) ?? -1) })
    }
}
