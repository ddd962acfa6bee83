import DistantObjects
import TestSupport
import Testing

/// A value that is not `Sendable`: each call has its own copy.
private final class KeptNote: Codable {
    var text: String

    init(_ text: String) { self.text = text }
}

private struct TallyInterface: Interface {
    let add = Signature<Int, Int, Int>("add")
    let total = Signature<Int>("total")
    let clear = Signature<Void>("clear")
    let keep = Signature<Void, KeptNote>("keep")
    let note = Signature<String>("note")
    let fail = Signature<Int>("fail")
    let other = Signature<Remote<TallyInterface>?, Bool>("other")
    let pause = Signature<Void>("pause")
}

private struct Refused: Error, Codable, Equatable {}

private actor Tally: Vendable, Implements {
    typealias I = TallyInterface
    private var sum = 0
    private var note: KeptNote?

    static var messages: MessageTable<Tally> {
        Message(\I.add) { await $0.add($1, $2) }
        Message(\I.total) { await $0.sum }
        Message(\I.clear) { await $0.clear() }
        Message(\I.keep) { (tally: Tally, note: sending KeptNote) in await tally.keep(note) }
        Message(\I.note) { await $0.text() }
        Message(\I.fail) { try await $0.fail() }
        Message(\I.other) { tally, isWanted in isWanted ? Remote(vending: tally) : nil }
        Message(\I.pause) { _ in try await Task.sleep(for: TestTimeout.test) }
        Message("twice") { await $0.add($1, $1) }
        Message("forget") { await $0.clear() }
    }

    private func isolated() { preconditionIsolated() }

    func add(_ one: Int, _ two: Int) -> Int {
        isolated()
        sum += one + two
        return sum
    }

    func clear() {
        isolated()
        sum = 0
    }

    func keep(_ note: sending KeptNote) {
        isolated()
        self.note = note
    }

    func text() -> String { note?.text ?? "" }
    func fail() throws -> Int { throw Refused() }
}

@globalActor private actor CashLedger { static let shared = CashLedger() }

@CashLedger
private final class CashBook: Vendable {
    private var entries = 0

    nonisolated init() {}

    nonisolated static var messages: MessageTable<CashBook> {
        Message("enter") { await $0.enter($1) }
        Message("clear") { await $0.clear() }
    }

    func enter(_ count: Int) -> Int {
        CashLedger.shared.preconditionIsolated()
        entries += count
        return entries
    }

    func clear() {
        CashLedger.shared.preconditionIsolated()
        entries = 0
    }
}

@Suite("Messages that a closure of the object and the arguments answers", .bounded())
struct ClosureMessageTests {
    @Test("An actor's methods run on it, with results, without, throwing, and with what only they hold")
    func actorInClosureMessage() async throws {
        var configuration = Connection.Configuration.patient
        configuration.errorTypes = [Refused.self]
        let (client, server) = try await Connection.pair(first: configuration, second: configuration)
        try server.vend(Tally())
        let tally = try await client.root(as: TallyInterface.self)
        #expect(try await tally.add(1, 2) == 3)
        #expect(try await tally.total() == 3)
        let object = tally.object
        let twice: Int = try await object.twice(4)
        #expect(twice == 11)
        try await tally.clear()
        #expect(try await tally.add(1, 1) == 2)
        try await object.forget()
        #expect(try await tally.total() == 0)
        let note = KeptNote("first")
        try await tally.keep(note)
        note.text = "second"
        #expect(try await tally.note() == "first")
        await #expect(throws: Refused()) { _ = try await tally.fail() }
        #expect(try await tally.other(false) == nil)
        #expect(try await tally.other(true) == tally)
        await client.close()
    }

    @Test("A wrong argument is refused with its position")
    func argumentInClosureMessage() async throws {
        let (client, server) = try await Connection.pair(first: .patient, second: .patient)
        try server.vend(Tally())
        let error = await #expect(throws: ConnectionError.self) {
            let _: Int = try await client.root.add(1, "two")
        }
        #expect(error?.code == .wrongArgument)
        #expect(error?.message.hasPrefix("argument 2: ") == true, "\(error as Any)")
        await client.close()
    }

    @Test("A caller that gives up cancels the closure")
    func cancelledClosureMessage() async throws {
        let (client, server) = try await Connection.pair(first: .patient, second: .patient)
        try server.vend(Tally())
        let tally = try await client.root(as: TallyInterface.self)
        let error = await #expect(throws: ConnectionError.self) { try await tally.pause(timeout: .milliseconds(1)) }
        #expect(error?.code == .deadlineExceeded)
        // Waits for the methods that run.
        await client.close()
    }

    @Test("Methods of a class on a global actor run on it")
    func globalActorInClosureMessage() async throws {
        let (client, server) = try await Connection.pair(first: .patient, second: .patient)
        server.vend(CashBook())
        let book = try await client.root
        let entries: [Int] = [try await book.enter(1), try await book.enter(2)]
        #expect(entries == [1, 3])
        try await book.clear()
        let last: Int = try await book.enter(5)
        #expect(last == 5)
        await client.close()
    }

    @Test("A description has the types of the closure as those of a method")
    func describedClosureMessage() async throws {
        let (client, server) = try await Connection.pair(first: .patient, second: .patient)
        try server.vend(Tally())
        let description = try #require(DistantObject.classDescription(of: await client.root))
        let texts = description.messages.map(\.description)
        #expect(texts.contains("add(Int, Int) -> Int"))
        #expect(texts.contains("clear() -> Void"))
        #expect(texts.contains("twice(Int) -> Int"))
        #expect(texts.contains("other(Bool) -> Remote<TallyInterface>?"))
        await client.close()
    }
}
