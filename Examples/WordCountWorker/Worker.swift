// FirstConnection.md: worker
import DistantObjects
import Foundation
import WordCountValues

/// Counts words; sent by reference.
final class Counter: Vendable {
    static var messages: MessageTable<Counter> {
        Message("count", Counter.count)
        Message("countAll", Counter.countAll)
    }

    func count(_ path: String) throws -> WordCount {
        guard let text = try? String(contentsOfFile: path, encoding: .utf8) else {
            throw WordCountError.unreadable(path)
        }
        return WordCount(of: text)
    }

    func countAll(_ paths: [String], _ observer: DistantObject) async throws -> Int {
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
    static func main() async throws {
        let connection = try await Connection.parent()
        connection.vend(Counter())
        _ = await connection.ended
    }
}
// end
