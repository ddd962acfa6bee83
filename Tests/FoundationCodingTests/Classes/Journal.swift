import Foundation
import KeyedArchive
import Testing

/// Says which case a child process is at, so that its parent can name the one that ended it.
final class Journal {
    /// How many cases earlier children have gone through.
    let start: Int
    private let file: FileHandle

    /// - Parameters:
    ///   - path: A file.
    ///   - start: How many cases to leave out.
    init(_ path: String, start: Int) throws {
        try Data().write(to: URL(fileURLWithPath: path))
        file = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
        self.start = start
    }

    /// Runs a case, which may throw what decoding throws.
    ///
    /// A case that hangs ends the process.
    func run(_ number: Int, _ name: String, _ body: () throws -> Void) throws {
        alarm(600)
        write(number, name)
        do {
            try body()
        } catch let error as ArchiveError where error.code != .misuse {
        } catch {
            write(number, "\(name): \(error)")
            throw error
        }
    }

    private func write(_ number: Int, _ name: String) {
        let line = Array("\(number)\t\(name)\n".utf8)
        _ = line.withUnsafeBytes { pwrite(file.fileDescriptor, $0.baseAddress, $0.count, 0) }
    }

    /// Runs children, each from behind the case that ended the one before, and records the names of these cases.
    ///
    /// - Parameters:
    ///   - path: The file of the journal.
    ///   - child: Runs a child, with the path and the number of cases to leave out, and says whether it ended well.
    static func follow(_ path: String, _ child: (String, Int) async -> Bool) async throws {
        var start = 0
        for _ in 0..<50 {
            if await child(path, start) { return }
            guard let last = try last(path), last.number > start else { break }
            Issue.record("the process ended at: \(last.name)")
            start = last.number
        }
        Issue.record("the children did not come to the end of the cases")
    }

    /// The case that the file names.
    private static func last(_ path: String) throws -> (number: Int, name: String)? {
        let text = String(decoding: try Data(contentsOf: URL(fileURLWithPath: path)), as: UTF8.self)
        guard let line = text.split(separator: "\n").first else { return nil }
        let parts = line.split(separator: "\t", maxSplits: 1)
        guard parts.count == 2, let number = Int(parts[0]) else { return nil }
        return (number, String(parts[1]))
    }
}
