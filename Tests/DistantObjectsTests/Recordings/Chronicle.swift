import DistantObjects
import Synchronization
import TestSupport
import Testing

/// What is called in the recording of promises, streams and metadata.
///
/// The recording has its description, so its messages stay as they are.
final class Chronicle: Vendable {
    static var messages: MessageTable<Chronicle> {
        Message("page", Chronicle.page)
        Message("number", Chronicle.number)
        Message("note", Chronicle.note)
        Message("back", Chronicle.back)
        Message("missing", Chronicle.missing)
        Message("trace", Chronicle.trace)
        Message("words", Chronicle.words)
        Message("broken", Chronicle.broken)
        Message("sum", Chronicle.sum)
    }

    private let ownNumber: Int
    let notes = Mutex<[String]>([])

    init(_ number: Int) { ownNumber = number }

    func page(_ number: Int) -> Chronicle { Chronicle(10 * ownNumber + number) }
    func number() -> Int { ownNumber }
    func note(_ text: String) { notes.withLock { $0.append("\(text) \(trace())") } }
    func back(_ object: DistantObject) -> DistantObject { object }
    func missing() throws -> Chronicle { throw NotFound(name: "page") }
    func trace() -> String { CallContext.current.metadata["trace"] ?? "none" }

    func words(_ count: Int) -> DistantStream<String>.WithFinal<Int> {
        DistantStream<String>.WithFinal { writer in
            for number in 0..<count { try await writer.send("word \(number)") }
            return count
        }
    }

    func broken() -> DistantStream<Int> {
        DistantStream { writer in
            try await writer.send(1)
            throw NotFound(name: "rest")
        }
    }

    @concurrent
    func sum(_ numbers: DistantStream<Int>) async throws -> Int {
        var sum = 0
        for try await number in numbers { sum += number }
        return sum
    }
}

extension Chronicle {
    /// What the client says in the recording.
    static func converse(_ client: Connection) async throws {
        // Each step waits until nothing of it is left, so that its frames do not cross those of the next.
        func rest(imports: Int = 1) async {
            await eventually("nothing is left but the root: \(client.statistics)") {
                let now = client.statistics
                return client.isEnded
                    || now.questions + now.answers + now.pending + now.streams == 0 && now.exports == 0
                        && now.imports == imports
            }
        }
        let base = client.statistics.imports
        var root: DistantObject? = try await client.root(named: "chronicle")
        let imports = client.statistics.imports
        try await promises(root!) { await rest(imports: imports) }
        try await streams(root!) { await rest(imports: imports) }
        try await CallContext.with(metadata: ["trace": "7", "user": "Ada"]) {
            #expect(try await root!.trace() == "7")
            try await root!.note.oneWay("said")
            try await client.barrier()
        }
        await rest(imports: imports)
        root = nil
        await rest(imports: base)
        await client.close()
    }

    private static func promises(_ root: DistantObject, _ rest: () async -> Void) async throws {
        let connection = root.connection
        let imports = connection?.statistics.imports
        var page: DistantObject? = root.page.promise(1)
        var next: DistantObject? = page!.page.promise(2)
        let number: Int = try await next!.number()
        #expect(number == 12)
        let resolved: Int = try await page!.resolved().number()
        #expect(resolved == 1)
        // A Release says how many frames were entered before it.
        await eventually("the resolved object is let go") { connection?.statistics.imports == imports }
        next = nil
        await eventually("the second is dropped") { connection?.statistics.questions == 1 }
        page = nil
        await rest()
        var missing: DistantObject? = root.missing.promise()
        await #expect(throws: NotFound(name: "page")) { let _: Int = try await missing!.number() }
        missing = nil
        await rest()
        let own = Chronicle(5)
        var back: DistantObject? = root.back.promise(DistantObject(standingFor: own))
        let same: Int = try await CallContext.with(metadata: ["trace": "8"]) {
            try await back!.note("heard")
            return try await back!.number()
        }
        #expect(same == 5 && own.notes.withLock { $0 } == ["heard 8"])
        back = nil
        await rest()
    }

    private static func streams(_ root: DistantObject, _ rest: () async -> Void) async throws {
        do {
            let words: DistantStream<String>.WithFinal<Int> = try await root.words(3)
            var all: [String] = []
            for try await word in words { all.append(word) }
            #expect(try await words.final == 3 && all == ["word 0", "word 1", "word 2"])
        }
        await rest()
        do {
            let broken: DistantStream<Int> = try await root.broken()
            var iterator = broken.makeAsyncIterator()
            #expect(try await iterator.next() == 1)
            await #expect(throws: NotFound(name: "rest")) { try await iterator.next() }
        }
        await rest()
        do { let _: DistantStream<String>.WithFinal<Int> = try await root.words(2) }
        await rest()
        let sum: Int = try await root.sum(DistantStream(1...4))
        #expect(sum == 10)
        await rest()
    }
}
