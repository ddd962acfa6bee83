// FirstConnection.md: worker
import DistantObjects
import WordCountValues

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Counts words; sent by reference.
final class Counter: Vendable, Implements {
    typealias I = CounterInterface

    static var messages: MessageTable<Counter> {
        Message(\I.count, Counter.count)
        Message(\I.countAll, Counter.countAll)
    }

    func count(_ path: String) throws -> WordCount {
        guard let text = try? String(contentsOfFile: path, encoding: .utf8) else {
            throw WordCountError.unreadable(path)
        }
        return WordCount(of: text)
    }

    func countAll(_ paths: [String], _ observer: Remote<ObserverInterface>) async throws -> Int {
        var total = 0
        for path in paths {
            let found = try count(path)
            total += found.words
            try await observer.counted(path, found)
        }
        return total
    }
}

@main
struct Worker {
    static func main() async {
        do {
            let connection = try await Connection.parent()
            try connection.vend(Counter())
            _ = await connection.ended
        } catch {
            stop("wordcount-worker", "\(error)", status: 1)
        }
    }
}
// end
