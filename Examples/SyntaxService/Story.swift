import DistantObjects
import ExampleConsole
import SyntaxServiceValues

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Everything that happens to the helper, and what the editor has got in spite of it.
final class Story {
    private struct Row {
        let title: String
        /// How often it has happened; known when the helper is stopped.
        let count: () -> Int
        let answered: Int
        let losses: [String]
        let isRight: Bool
    }

    private let editor: Editor
    private var generator: Generator
    private var rows: [Row] = []

    init(_ editor: Editor, seed: UInt64) {
        self.editor = editor
        generator = Generator(seed: seed)
    }

    /// Asks about files, one of which brings trouble.
    func tell(_ trouble: Trouble) async {
        let title = Self.title(of: trouble)
        Console.say(title)
        // Longer than a helper may be silent: one that is busy is not killed.
        let patience = trouble == .slow ? Editor.patience * 3 : nil
        let name = "\(trouble).txt"
        var samples = [Sample(name, trouble, patience: patience, from: &generator)] + calmSamples(8)
        // It does not fit into the buffer of the connection: the helper ends while the editor writes it.
        if trouble == .hang { samples.append(Sample("large.txt", comment: 4 << 20, from: &generator)) }
        add(title, samples, await editor.ask(about: samples)) { [editor] in editor.diary.count(trouble) }
    }

    private static func title(of trouble: Trouble) -> String {
        switch trouble {
        case .crash: "A file crashes the helper"
        case .hang: "A file makes the helper hang"
        case .slow: "A file takes too long"
        case .leak: "A file makes the helper leak memory"
        case .print: "A file makes the helper print"
        }
    }

    /// Replaces the helper by another build in the middle of questions, none of which is lost.
    func tellUpdate(to build: Int) async throws {
        let title = "A newer build replaces the helper"
        Console.say(title)
        let samples = calmSamples(16)
        let asked = Task { [editor] in await editor.ask(about: samples) }
        try await editor.update()
        let answers = await asked.value
        let isNew = try await editor.build() == build
        add(title, samples, answers) { isNew ? 1 : 0 }
    }

    private func calmSamples(_ count: Int) -> [Sample] {
        (1...count).map { Sample("file\($0).txt", from: &generator) }
    }

    private func add(_ title: String, _ samples: [Sample], _ answers: [Answer], count: @escaping () -> Int) {
        var losses: [String] = []
        for case (let sample, .lost(let loss)) in zip(samples, answers) {
            losses.append("\(sample.file.name) (\(loss))")
        }
        rows.append(
            Row(
                title: title, count: count, answered: answers.count - losses.count, losses: losses,
                isRight: answers.count == samples.count && zip(samples, answers).allSatisfy { $0.isRight($1) }))
    }

    /// Prints a table of what has happened, when the helper is stopped.
    ///
    /// - Throws: `StoryError` unless everything is as it has to be.
    func end() throws {
        func line(_ cells: String...) {
            let padded = zip(cells, [38, 7, 9]).map { $0 + String(repeating: " ", count: $1 - $0.count) }
            Console.say(padded.joined() + cells[3])
        }
        Console.say()
        line("Survived", "times", "answers", "lost")
        for row in rows {
            let losses = row.losses.isEmpty ? "none" : row.losses.joined(separator: ", ")
            line(row.title, "\(row.count())", "\(row.answered)", losses)
        }
        for row in rows where !row.isRight || row.count() == 0 {
            throw StoryError("not as it has to be: \(row.title)")
        }
        for process in editor.diary.processes where kill(process, 0) == 0 {
            throw StoryError("process \(process) is left")
        }
    }
}
