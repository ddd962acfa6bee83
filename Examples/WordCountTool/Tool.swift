// FirstConnection.md: tool
import DistantObjects
import WordCountValues

/// Gets a callback from the worker for each file.
final class Printer: Vendable, Implements {
    typealias I = ObserverInterface

    static var messages: MessageTable<Printer> {
        Message(\I.counted, Printer.counted)
    }

    func counted(_ path: String, _ found: WordCount) {
        print("\(path): \(found.words) words, the longest is \(found.longest)")
    }
}

@main
struct Tool {
    static let usage = """
        Usage: wordcount FILE...

        Counts the words of text files in a worker process.
        Exits with 0, with 1 after a failure, or with 2 if the arguments are wrong.
        """

    static func main() async {
        let arguments = Array(CommandLine.arguments.dropFirst())
        if arguments.contains("--help") { return print(usage) }
        if let option = arguments.first(where: { $0.hasPrefix("-") }) {
            stop("wordcount", "there is no option \(option); see wordcount --help", status: 2)
        }
        if arguments.isEmpty { stop("wordcount", "a file is needed; see wordcount --help", status: 2) }
        do {
            print("\(try await count(arguments)) words in all")
        } catch {
            stop("wordcount", "\(error)", status: 1)
        }
    }

    /// Has a worker count the words of files, and waits for its end.
    static func count(_ paths: [String]) async throws -> Int {
        let worker = try await Connection.launch("wordcount-worker")
        return try await withConnection(worker) { worker in
            let counter = try await worker.root(as: CounterInterface.self)
            return try await counter.countAll(paths, Remote(vending: Printer()))
        }
    }
}
// end
