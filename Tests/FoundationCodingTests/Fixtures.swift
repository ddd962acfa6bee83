import Foundation
import Testing

/// Archives that others wrote, which are kept outside of the repository.
///
/// They are looked for at the path in the environment variable `DISTANT_FIXTURES`, else at `../shared/fixtures`.
enum Fixtures {
    static let directory: URL? = {
        var places: [URL] = []
        if let path = ProcessInfo.processInfo.environment["DISTANT_FIXTURES"] { places.append(URL(filePath: path)) }
        let package = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
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

    static func files(_ folder: String) throws -> [(name: String, data: Data)] {
        guard let directory = directory?.appending(path: folder) else { return [] }
        return try FileManager.default.contentsOfDirectory(atPath: directory.path).sorted().map {
            ($0, try Data(contentsOf: directory.appending(path: $0)))
        }
    }

    static func data(_ folder: String, _ file: String) throws -> Data {
        guard let directory else { return Data() }
        return try Data(contentsOf: directory.appending(path: "\(folder)/\(file)"))
    }

    /// The values expected of real archives, by file.
    static func expected() throws -> [(file: String, text: String)] {
        guard let directory else { return [] }
        let text = try String(contentsOf: directory.appending(path: "expected.tsv"), encoding: .utf8)
        return text.split(separator: "\n").dropFirst().compactMap { line in
            let columns = line.split(separator: "\t", maxSplits: 1)
            return columns.count == 2 ? (String(columns[0]), String(columns[1])) : nil
        }
    }
}
