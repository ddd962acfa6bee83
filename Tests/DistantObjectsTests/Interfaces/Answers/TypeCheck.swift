import TestSupport

#if canImport(FoundationEssentials)
    import Foundation
#endif

/// What the compiler says to a source that uses the built modules.
struct TypeCheck {
    /// The modes that a module may be compiled in.
    enum Isolation: String {
        /// Nothing is isolated unless the source says so.
        case plain
        /// `-default-isolation MainActor`, as new app projects have it.
        case mainActor

        var arguments: [String] { self == .plain ? [] : ["-default-isolation", "MainActor"] }
    }

    /// The errors and warnings by the line of the source, each from its first word on.
    private(set) var answers: [Int: [String]] = [:]
    /// All that the compiler printed.
    let text: String

    /// Has the compiler check a source.
    init(_ source: String, _ isolation: Isolation = .plain) async throws {
        let folder = try TemporaryFolder()
        let file = folder.path("checked.swift")
        try source.write(toFile: file, atomically: true, encoding: .utf8)
        text = try await BuiltModules.compile(
            ["-typecheck", "-parse-as-library", "-enable-upcoming-feature", "NonisolatedNonsendingByDefault"]
                + isolation.arguments + [file])
        for line in text.split(separator: "\n") {
            guard let match = line.firstMatch(of: #/checked\.swift:(\d+):\d+: ((?:error|warning): .*)/#),
                let number = Int(match.1)
            else { continue }
            answers[number, default: []].append(String(match.2))
        }
    }
}
