// swift-format-ignore-file
// It is laid out as TestingYourTool.md shows it.

// TestingYourTool.md: killed
import DistantObjects
import DistantTesting
import Synchronization
import Testing
// end

/// The code of TestingYourTool.md.
enum TestingYourToolCode {
    struct Unreadable: Error, Codable, Equatable {
        var text: String
    }

    // TestingYourTool.md: interface
    struct WordsInterface: Interface {
        let count = Signature<Int, String>("count")
        let longest = Signature<String, String>("longest", since: 2)
        static var errors: [any (Error & Codable).Type] { [Unreadable.self] }
    }
    // end

    final class Words: Vendable, Implements {
        typealias I = WordsInterface

        static var messages: MessageTable<Words> {
            Message(\I.count, Words.count)
            Message(\I.longest, Words.longest)
        }

        func count(_ text: String) throws -> Int {
            guard text != "unreadable" else { throw Unreadable(text: text) }
            return text.split(separator: " ").count
        }

        func longest(_ text: String) -> String {
            text.split(separator: " ").map(String.init).max { $0.count < $1.count } ?? ""
        }
    }

    // TestingYourTool.md: tool
    struct WordCounter: Sendable {
        let launch: @Sendable () async throws -> Connection

        func count(_ texts: [String]) async throws -> [Int] {
            var connection = try await launch()
            var words = try await connection.root(as: WordsInterface.self)
            var counts: [Int] = []
            while counts.count < texts.count {
                do {
                    counts.append(try await words.count(texts[counts.count]))
                } catch let error as ConnectionError where isWorthAnotherTry(error) {
                    connection = try await launch()
                    words = try await connection.root(as: WordsInterface.self)
                }
            }
            await connection.close()
            return counts
        }
    }
    // end

    static func tool() -> WordCounter {
        // TestingYourTool.md: launch
        let counter = WordCounter { try await Connection.launch("words-worker") }
        // end
        return counter
    }

    static func local() async throws -> Int {
        // TestingYourTool.md: local
        let words = Remote(local: Words())
        let count = try await words.count("to be or not", timeout: .seconds(5))
        await #expect(throws: Unreadable(text: "unreadable")) { try await words.count("unreadable") }
        // end
        return count
    }

    static func versions() async throws {
        // TestingYourTool.md: versions
        let old = try TestPeer(Words(), behaviour: .lacks("longest"))
        let words = try await old.connection.root(as: WordsInterface.self)
        #expect(!words.longest.isAvailable)
        // end
    }

    static func timeOut() throws {
        // TestingYourTool.md: clock
        let loop = TestLoop()
        let slow = try TestPeer(Words(), behaviour: .delays(.seconds(60)), on: loop)
        let words = try loop.run { try await slow.connection.root(as: WordsInterface.self) }
        let isLate = Mutex(false)
        loop.task {
            do { _ = try await words.count("a b", timeout: .seconds(30)) } catch { isLate.withLock { $0 = true } }
        }
        loop.advance(by: .seconds(31))
        #expect(isLate.withLock { $0 })
        // end
    }

    static func pair(_ seed: UInt64) async throws -> Int {
        // TestingYourTool.md: pair
        let pair = try await ConnectionPair(seed: seed, capacity: 300)
        try pair.second.vend(Words())
        let words = try await pair.first.root(as: WordsInterface.self)
        let count = try await words.count("all of this arrives in pieces")
        pair.cut()
        // end
        return count
    }
}

extension TestingYourToolCode {
    struct Tests {
        // TestingYourTool.md: killed
        @Test("A worker that is killed in the middle is replaced")
        func killed() async throws {
            let workers = Mutex<[TestPeer]>([])
            let counter = WordCounter {
                try workers.withLock { workers in
                    workers.append(try TestPeer(Words(), behaviour: workers.isEmpty ? .dies(after: 1) : .init()))
                    return workers[workers.count - 1].connection
                }
            }
            #expect(try await counter.count(["a", "b c", "d e f"]) == [1, 2, 3])
            #expect(workers.withLock { $0.map(\.calls.count) } == [2, 2])
        }
        // end
    }
}

/// As in the guide on failures.
private func isWorthAnotherTry(_ error: ConnectionError) -> Bool {
    switch error.code {
    case .notSent, .notDelivered, .closed, .outcomeUnknown: true
    default: false
    }
}
