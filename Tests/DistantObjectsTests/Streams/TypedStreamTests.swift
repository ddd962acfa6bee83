import DistantObjects
import TestSupport
import Testing

private struct NewsInterface: Interface {
    let latest = Signature<DistantStream<Int>, Int>("latest")
    let later = Signature<DistantStream<Int>, Int>("later")
    let shown = Signature<DistantStream<Int>, Int>("shown")
    let own = Signature<DistantStream<Int>>("own")
    let total = Signature<DistantStream<Int>.WithFinal<String>, DistantStream<Int>>("total")
    let readers = Signature<DistantStream<Remote<ReaderInterface>>>("readers")
}

private struct NewerInterface: Interface {
    let latest = Signature<DistantStream<String>, Int>("latest")
    let own = Signature<DistantStream<Int>.WithFinal<Int>>("own")
    let extra = Signature<DistantStream<Int>>("extra", since: 2)
}

private final class News: Vendable, Implements {
    typealias I = NewsInterface

    static var messages: MessageTable<News> {
        Message(\I.latest, News.latest)
        Message(\I.later, News.later)
        Message(\I.shown, News.shown)
        Message(\I.own, News.own)
        Message(\I.total, News.total)
        Message(\I.readers, News.readers)
    }

    func latest(_ count: Int) -> some AsyncSequence<Int, Never> & Sendable { numbers(count) }

    func later(_ count: Int) async throws -> AsyncStream<Int> {
        await Task.yield()
        return numbers(count)
    }

    @MainActor
    func shown(_ count: Int) -> AsyncStream<Int> { numbers(count) }

    func own() -> DistantStream<Int> { DistantStream([1, 2]) }

    func total(_ numbers: DistantStream<Int>) -> DistantStream<Int>.WithFinal<String> {
        DistantStream<Int>.WithFinal { writer in
            var sum = 0
            for try await number in numbers {
                sum += number
                try await writer.send(sum)
            }
            return "\(sum)"
        }
    }

    func readers() -> DistantStream<Remote<ReaderInterface>> {
        DistantStream((0..<3).map { _ in Remote(vending: Reader()) })
    }

    private func numbers(_ count: Int) -> AsyncStream<Int> {
        AsyncStream { continuation in
            for number in 0..<count { continuation.yield(number) }
            continuation.finish()
        }
    }
}

@Suite("Streams that the compiler checks", .bounded())
struct TypedStreamTests {
    private func use(_ news: Remote<NewsInterface>) async throws {
        #expect(try await news.latest(3).all() == [0, 1, 2])
        #expect(try await news.later(4).all() == [0, 1, 2, 3])
        #expect(try await news.shown(2).all() == [0, 1])
        #expect(try await news.own().all() == [1, 2])
        let total = try await news.total(DistantStream([1, 2, 3]))
        var sums: [Int] = []
        for try await sum in total { sums.append(sum) }
        #expect(sums == [1, 3, 6])
        #expect(try await total.final == "6")
        for try await reader in try await news.readers() {
            try await reader.tell("hello")
            #expect(try await reader.told() == 1)
        }
    }

    @Test("A method returns any sequence where the signature says a stream")
    func sequences() async throws {
        let pair = try await Pair()
        try pair.server.vend(News(), as: "news")
        try await use(try await pair.client.root(named: "news", as: NewsInterface.self))
        await pair.client.close()
        #expect(pair.client.statistics.streams == 0)
    }

    @Test("An object of this process has the same streams")
    func localInTypedStream() async throws { try await use(Remote(local: News())) }

    @Test("Descriptions name the type of the elements and of the final value, and differences are found")
    func descriptions() async throws {
        let pair = try await Pair()
        try pair.server.vend(News(), as: "news")
        let root = try await pair.client.root(named: "news")
        let described = try #require(DistantObject.classDescription(of: root))
        #expect(
            described.messages.map { "\($0)" } == [
                "later(Int) -> DistantStream<Int>", "latest(Int) -> DistantStream<Int>", "own() -> DistantStream<Int>",
                "readers() -> DistantStream<Remote<ReaderInterface>>", "shown(Int) -> DistantStream<Int>",
                "total(DistantStream<Int>) -> DistantStream<Int>.WithFinal<String>",
            ])
        #expect(described.messages[0].result.kind == .stream)
        let error = #expect(throws: ConnectionError.self) { try Remote<NewerInterface>(root) }
        let message = error?.message ?? ""
        #expect(message.contains("latest: result DistantStream<String> is DistantStream<Int> there"))
        #expect(message.contains("own: result DistantStream<Int>.WithFinal<Int> is DistantStream<Int> there"))
        #expect(!message.contains("extra"))
        await pair.client.close()
    }
}
