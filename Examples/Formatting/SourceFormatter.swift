// ComingFromJSON.md: formatter
package import DistantObjects

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Formats texts; sent by reference.
package final class SourceFormatter: Vendable, Implements {
    package typealias I = FormatterInterface

    package static var messages: MessageTable<SourceFormatter> {
        Message(\I.format, SourceFormatter.format)
        Message(\I.check, SourceFormatter.check)
        Message(\I.unformatted, SourceFormatter.unformatted)
        Message(\I.formatForEditor, SourceFormatter.formatForEditor)
        Message(\I.formatBytes, SourceFormatter.formatBytes)
    }

    package init() {}

    func format(_ text: String) throws -> String { try formatted(text) }

    func check(_ paths: [String], _ progress: ProgressReporter) async throws -> Int {
        var count = 0
        for (index, path) in paths.enumerated() {
            // Other messages may start here.
            await Task.yield()
            try Task.checkCancellation()
            if try isUnformatted(path) { count += 1 }
            progress.report(Int64(index + 1), of: Int64(paths.count))
        }
        return count
    }

    func unformatted(_ paths: [String]) -> DistantStream<String> {
        DistantStream { [self] writer in
            for path in paths where try isUnformatted(path) { try await writer.send(path) }
        }
    }

    func formatForEditor(_ text: String, _ editor: Remote<EditorInterface>) async throws -> String {
        let width = try await editor.width()
        try await editor.show.oneWay("formatting with a width of \(width)")
        return try formatted(text, width: width)
    }

    func formatBytes(_ text: SharedBytes) throws -> SharedBytes {
        let text = text.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
        return SharedBytes(Array(try formatted(text).utf8))
    }

    private func isUnformatted(_ path: String) throws -> Bool {
        let text = try String(contentsOfFile: path, encoding: .utf8)
        return try formatted(text) != text
    }
}
// end
