// ComingFromJSON.md: JSON service
import Foundation
import Synchronization

/// Reads requests until standard input ends, and runs a task for each.
package final class JSONService: Sendable {
    private let running = Mutex<[Int: Task<Void, Never>]>([:])
    // One line is written at a time.
    private let output = Mutex(FileHandle.standardOutput)

    package init() {}

    package func serve() {
        while let line = readLine() {
            guard let request = try? JSONDecoder().decode(Request.self, from: Data(line.utf8)) else { continue }
            switch request {
            case .format(let id, let text):
                start(id) { .formatted(id: id, text: try formatted(text)) }
            case .check(let id, let paths):
                start(id) { .checked(id: id, count: try self.check(paths, id)) }
            case .cancel(let id):
                running.withLock { $0[id] }?.cancel()
            }
        }
    }

    private func check(_ paths: [String], _ id: Int) throws -> Int {
        var count = 0
        for (index, path) in paths.enumerated() {
            try Task.checkCancellation()
            let text = try String(contentsOfFile: path, encoding: .utf8)
            if try formatted(text) != text { count += 1 }
            send(.progress(id: id, done: index + 1))
        }
        return count
    }

    private func start(_ id: Int, _ body: @escaping @Sendable () throws -> Reply) {
        running.withLock { running in
            running[id] = Task {
                do { send(try body()) } catch { send(.failed(id: id, message: "\(error)")) }
                _ = self.running.withLock { $0.removeValue(forKey: id) }
            }
        }
    }

    private func send(_ reply: Reply) {
        guard let line = try? JSONEncoder().encode(reply) else { return }
        // If the tool is gone, the end of the input says so.
        output.withLock { output in try? output.write(contentsOf: line + [UInt8(ascii: "\n")]) }
    }
}
// end
