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
    static func main() async throws {
        let paths = Array(CommandLine.arguments.dropFirst())
        var configuration = Connection.Configuration()
        configuration.errorTypes = [WordCountError.self]
        let connection = try await Connection.launch("wordcount-worker", configuration: configuration)
        let counter = try await connection.root(as: CounterInterface.self)
        do {
            let total = try await counter.countAll(paths, Remote(vending: Printer()))
            print("\(total) words in all")
        } catch WordCountError.unreadable(let path) {
            print("\(path) cannot be read")
        }
        await connection.close()
    }
}
// end
