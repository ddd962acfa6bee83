import Foundation
import Testing

@testable import KeyedArchive

/// Archives that others wrote, which are kept outside of the repository.
///
/// They are looked for at the path in the environment variable `DISTANT_FIXTURES`, else at `../shared/fixtures`.
enum Fixtures {
    static let directory: URL? = {
        let package = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        var places: [URL] = []
        if let path = ProcessInfo.processInfo.environment["DISTANT_FIXTURES"] { places.append(URL(filePath: path)) }
        places.append(package.deletingLastPathComponent().appending(path: "shared/fixtures"))
        return places.map { $0.appending(path: "archives") }
            .first { FileManager.default.fileExists(atPath: $0.appending(path: "real.tsv").path) }
    }()

    /// Where they have to be here, tests of them are not skipped but fail.
    static var areThere: Bool {
        directory != nil || ProcessInfo.processInfo.environment["DISTANT_FIXTURES_REQUIRED"] != nil
    }

    static let comment: Comment =
        "the archives of others are not here: set DISTANT_FIXTURES to the directory that holds archives/real.tsv"

    /// The rows of a table, without its heading, by their first column.
    static func table(_ name: String) throws -> [(file: String, columns: [String])] {
        guard let directory else { return [] }
        let text = try String(contentsOf: directory.appending(path: name), encoding: .utf8)
        return text.split(separator: "\n").dropFirst().map { line in
            let columns = line.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
            return (columns[0], columns)
        }
    }

    static func bytes(_ folder: String, _ file: String) throws -> [UInt8] {
        guard let directory else { return [] }
        return Array(try Data(contentsOf: directory.appending(path: "\(folder)/\(file)")))
    }
}
