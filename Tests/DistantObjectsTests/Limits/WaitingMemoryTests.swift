import Dispatch
import DistantObjects
import Synchronization
import TestSupport
import Testing

/// A peer must not make this process keep many times the bytes that it sends.
@Suite("Memory of messages that wait", .bounded())
struct WaitingMemoryTests {
    /// What may be kept besides a multiple of what was sent.
    private static let slack = 1 << 20
    private static let isMeasured = ConditionTrait.enabled(
        if: HeapUse.isReported, "only glibc reports what is allocated, and not under a sanitizer")

    /// Expects that no more is kept, once what the last read has dropped is freed.
    private static func expectKept(atMost bytes: Int, since before: Int) async {
        await eventually("at most \(bytes) bytes are kept") { HeapUse.bytes - before <= bytes }
    }

    @Test(
        "Tables of waiting calls keep at most four times their bytes, whatever their entries are", Self.isMeasured,
        arguments: Entry.allCases)
    func tables(_ entry: Entry) async throws {
        await #expect(processExitsWith: .success) { [entry = entry as Entry] in
            let flood = try await Flood()
            let count = entry == .largeShape ? 250 : 1_000
            if entry == .internedShape { try await flood.intern(0..<1) }
            try await flood.hold()
            let before = HeapUse.bytes
            try await flood.send(entry, count)
            let sent = flood.sent
            await Self.expectKept(atMost: Self.slack + 4 * sent, since: before)
            let kept = HeapUse.bytes - before
            #expect(kept > sent / 4, "the memory is not measured: \(entry): \(kept) bytes for \(sent)")
            flood.dock.gate.signal()
            flood.dock.go.send()
            let answers = try await flood.answers(count)
            #expect(answers == Flood.results(0..<count))
            #expect(flood.dock.numbers.withLock { $0.sorted() } == Array(0..<count))
            await flood.end()
        }
    }

    @Test(
        "Calls beyond the bytes that may wait are refused at once and not run, and the others run in order",
        Self.isMeasured)
    func refusedInWaitingMemory() async throws {
        await #expect(processExitsWith: .success) {
            var limits = ConnectionLimits()
            limits.waitingBytes = 2 << 20
            let flood = try await Flood(limits)
            // What is allocated once is there before.
            try await flood.send(.root, 100, from: 5_000)
            #expect(try await flood.answers(100) == Flood.results(5_000..<5_100))
            flood.forget()
            try await flood.hold()
            let before = HeapUse.bytes
            try await flood.send(.root, 1_000)
            // They are answered while the others still wait. A table has 8 bytes for each of its 4,096 entries.
            let accepted = Array(0..<63)
            let refused = try await flood.answers(1_000 - accepted.count)
            await Self.expectKept(atMost: limits.waitingBytes + Self.slack, since: before)
            #expect(Set(refused.keys) == Set((63..<1_000).map(Flood.question)))
            #expect(refused.values.allSatisfy { $0 == .refused(7) })
            flood.dock.gate.signal()
            let answers = try await flood.answers(1_000)
            #expect(answers == refused.merging(Flood.results(accepted)) { first, _ in first })
            #expect(flood.dock.numbers.withLock { $0 } == accepted)
            // There is room again.
            try await flood.send(.root, 20, from: 1_000)
            let later = try await flood.answers(1_020).filter { $0.key >= Flood.question(1_000) }
            #expect(later == Flood.results(1_000..<1_020))
            await flood.end()
        }
    }

    @Test(
        "An idle connection keeps little more than the bytes of interned shapes, and still reads values of them",
        Self.isMeasured)
    func internedShapes() async throws {
        await #expect(processExitsWith: .success) {
            let flood = try await Flood()
            try await flood.send(.root, 1)
            _ = try await flood.answers(1)
            let before = (memory: HeapUse.bytes, sent: flood.sent)
            // Each about 1 KiB.
            for start in stride(from: 0, to: 4_000, by: 40) {
                try await flood.intern(start..<start + 40)
            }
            let sent = flood.sent - before.sent
            #expect(sent > 3 << 20)
            await Self.expectKept(atMost: Self.slack + 4 * sent, since: before.memory)
            for number in [0, 1, 2_000, 3_999] { #expect(try await flood.value(ofShape: number) == number) }
            await flood.end()
        }
    }

    @Test("One-way messages are neither refused nor lost where few bytes may wait, and run in order")
    func oneWaysInWaitingMemory() async throws {
        var server = Connection.Configuration.patient
        server.limits.waitingBytes = 1 << 20
        let pair = try await Pair(server: server)
        let dock = Dock()
        pair.server.vend(dock, as: "dock")
        let proxy = try await pair.client.root(named: "dock")
        let hold = Task { try await proxy.hold() as Int }
        await dock.isHeld.wait()
        let count = 1_500
        let sender = Task {
            let bytes = [UInt8](repeating: 7, count: 60_000)
            for number in 0..<count { try await proxy.note.oneWay(number, bytes) }
        }
        await eventually("the credit is used up") { pair.client.statistics.pending == 1 }
        dock.gate.signal()
        _ = try await hold.value
        try await sender.value
        try await pair.client.barrier()
        await eventually("all have run") { dock.numbers.withLock { $0.count } == count }
        #expect(dock.numbers.withLock { $0 } == Array(0..<count))
        let losses = await pair.client.close()
        #expect(losses.count == 0)
        await pair.close()
    }

    /// An entry of a table, which a message repeats as often as it may.
    enum Entry: CaseIterable, Codable, Sendable {
        case root, deadStream, answer, smallShape, largeShape, internedShape
    }
}

/// The object that the calls are for.
private final class Dock: Vendable {
    let gate = DispatchSemaphore(value: 0)
    let isHeld = Signal()
    let go = Signal()
    /// The numbers of the calls that ran.
    let numbers = Mutex<[Int]>([])

    static var messages: MessageTable<Dock> {
        Message("hold", Dock.hold)
        Message("itself", Dock.itself)
        Message("takeObject", Dock.takeObject)
        Message("takeStream", Dock.takeStream)
        Message("takeDock", Dock.takeDock)
        Message("takeValue", Dock.takeValue)
        Message("checkValue", Dock.checkValue)
        Message("note", Dock.note)
    }

    struct Value: Codable {
        let x: Int
    }

    func hold() -> Int {
        isHeld.send()
        gate.wait()
        return 1
    }

    func itself() async -> Dock {
        await go.wait()
        return self
    }

    private func add(_ number: Int) -> Int {
        numbers.withLock { $0.append(number) }
        return number
    }

    func takeObject(_ number: Int, _ object: DistantObject) -> Int { object.connection == nil ? -1 : add(number) }
    func takeStream(_ number: Int, _ stream: DistantStream<Int>) async -> Int {
        do { for try await _ in stream {} } catch let error as ConnectionError where error.code == .overloaded {
            return add(number)
        } catch {}
        return -1
    }
    func takeDock(_ number: Int, _ dock: Dock) -> Int { dock === self ? add(number) : -1 }
    func takeValue(_ number: Int, _ value: Value) -> Int { value.x == number ? add(number) : -1 }
    func checkValue(_ number: Int, _ value: Value) -> Int { value.x == number ? number : -1 }
    func note(_ number: Int, _ bytes: [UInt8]) { if bytes.count == 60_000 { _ = add(number) } }
}

/// A peer that sends calls with large tables to an object that is busy.
private final class Flood: @unchecked Sendable {
    // Used by one task at a time.
    let dock = Dock()
    private let raw: RawPeer
    private let connection: Connection
    private(set) var sent = 0
    private(set) var taken: [UInt64: Answer] = [:]
    /// The numbers of the names that are interned.
    private var names: [String: UInt64] = ["root": 2]

    enum Answer: Equatable, Sendable {
        case result(Int)
        case refused(UInt8)
    }

    /// The question of a call.
    static func question(_ number: Int) -> UInt64 { UInt64(number + 10) }

    static func results(_ numbers: some Sequence<Int>) -> [UInt64: Answer] {
        Dictionary(uniqueKeysWithValues: numbers.map { (question($0), .result($0)) })
    }

    init(_ limits: ConnectionLimits = .init()) async throws {
        let (raw, ours) = try RawPeerConnection.ends(.socketpair)
        // Credit of one-way messages, promises and streams.
        raw.send(1, RawPeer.greeting(queuedCalls: 1 << 20, features: 4 | 32 | 64))
        var configuration = Connection.Configuration.patient
        configuration.limits.waitingBytes = limits.waitingBytes
        connection = try await RawPeerConnection.adopt(ours, isInitiator: false, configuration)
        connection.vend(dock)
        self.raw = raw
        try await onThread {
            _ = raw.read()
            raw.send(2, RawPeer.call(body: [0, 1, 0x80]))
            while let frame = raw.read(), frame.kind != 3 {}
        }
    }

    /// Keeps the object's mailbox busy, behind a call whose answer is not known.
    func hold() async throws {
        raw.send(2, flags: 4, RawPeer.call(question: 2, slot: 1, name: name("itself"), arguments: 0, body: [0, 0]))
        raw.send(2, RawPeer.call(question: 3, slot: 1, name: name("hold"), arguments: 0, body: [0, 0]))
        await dock.isHeld.wait()
        try await settle()
    }

    /// Waits until all that was sent is entered.
    private func settle() async throws {
        raw.send(11, [1])
        try await onThread { while let frame = self.raw.read(), frame.kind != 12 { self.take(frame) } }
    }

    private func name(_ name: String) -> [UInt8] {
        if let number = names[name] { return RawPeer.number(number) }
        names[name] = UInt64(names.count + 2)
        return [0] + RawPeer.text(name)
    }

    func send(_ entry: WaitingMemoryTests.Entry, _ count: Int, from first: Int = 0) async throws {
        let frames = (first..<first + count).map { number in frame(entry, number) }
        sent = frames.reduce(0) { $0 + $1.count }
        try await onThread { for frame in frames { self.raw.send(frame) } }
        try await settle()
    }

    private func frame(_ entry: WaitingMemoryTests.Entry, _ number: Int) -> [UInt8] {
        func table(_ count: Int, _ entry: [UInt8]) -> [UInt8] {
            RawPeer.number(UInt64(count)) + [UInt8](Array(repeating: entry, count: count).joined())
        }
        let integer = [0xC3] + RawPeer.number(UInt64(2 * number))
        let last: [UInt8] = [0xD7] + RawPeer.number(4_095)
        switch entry {
        case .root: return call("takeObject", number, table(4_096, [1, 0, 0]), [0], integer + last)
        case .deadStream:
            return call("takeStream", number, table(4_096, [4] + RawPeer.number(1_025)), [0], integer + last)
        case .answer: return call("takeDock", number, table(4_096, [3, 2]), [0], integer + last)
        case .smallShape:
            return call(
                "takeValue", number, [0], table(4_096, [1] + Self.definition(["x"])),
                integer + [0xD3, 0xFF, 0x0F] + integer)
        case .largeShape:
            let keys = ["x"] + (1..<1_024).map { String($0, radix: 32) + "-" }
            return call(
                "takeValue", number, [0], table(8, [1] + Self.definition(keys)),
                integer + [0xD3, 7, 0] + integer + [UInt8](repeating: 0, count: 1_023))
        case .internedShape:
            return call(
                "takeValue", number, [0], table(4_096, [2]),
                integer + [0xD3, 0xFF, 0x0F] + integer + [UInt8](repeating: 0, count: 199))
        }
    }

    /// The length and the bytes of a record's shape.
    private static func definition(_ keys: [String]) -> [UInt8] {
        let names = keys.flatMap { [0x80 + UInt8($0.utf8.count)] + Array($0.utf8) }
        let bytes: [UInt8] = [0, 0x80, 0] + RawPeer.number(UInt64(keys.count)) + names
        return RawPeer.number(UInt64(bytes.count)) + bytes
    }

    private func call(
        _ name: String, _ number: Int, _ references: [UInt8], _ shapes: [UInt8], _ values: [UInt8]
    ) -> [UInt8] {
        RawPeer.frame(
            2,
            RawPeer.call(
                question: Self.question(number), slot: 1, name: self.name(name), arguments: 2, references: references,
                shapes: shapes, body: [0] + RawPeer.number(UInt64(values.count)) + values))
    }

    /// Interns shapes of 200 keys in a call of which nothing is kept.
    func intern(_ numbers: Range<Int>) async throws {
        let definitions = numbers.flatMap { number -> [UInt8] in
            [0] + Self.definition(["x"] + (1..<200).map { String(number + 4_096 * $0, radix: 36) })
        }
        let integer = [0xC3] + RawPeer.number(UInt64(2 * numbers.lowerBound))
        let values = integer + [0xD3, 0, 0] + integer + [UInt8](repeating: 0, count: 199)
        let frame = RawPeer.frame(
            2,
            RawPeer.call(
                question: 4, slot: 1, name: name("checkValue"), arguments: 2,
                shapes: RawPeer.number(UInt64(numbers.count)) + definitions,
                body: [0] + RawPeer.number(UInt64(values.count)) + values))
        sent += frame.count
        raw.send(frame)
        try await onThread { while self.taken[4] == nil, let frame = self.raw.read() { self.take(frame) } }
        #expect(taken.removeValue(forKey: 4) == .result(numbers.lowerBound))
    }

    /// Sends a value of an interned shape, and returns the method's result.
    func value(ofShape number: Int) async throws -> Int? {
        let integer = [0xC3] + RawPeer.number(UInt64(2 * number))
        let values = integer + [0xD3, 0, 0] + integer + [UInt8](repeating: 0, count: 199)
        raw.send(
            2,
            RawPeer.call(
                question: 4, slot: 1, name: name("checkValue"), arguments: 2,
                shapes: [1] + RawPeer.number(UInt64(number + 2)),
                body: [0] + RawPeer.number(UInt64(values.count)) + values))
        try await onThread { while self.taken[4] == nil, let frame = self.raw.read() { self.take(frame) } }
        guard case .result(let value) = taken.removeValue(forKey: 4) else { return nil }
        return value
    }

    /// Reads until so many calls are answered.
    func answers(_ count: Int) async throws -> [UInt64: Answer] {
        try await onThread { while self.taken.count < count, let frame = self.raw.read() { self.take(frame) } }
        return taken
    }

    /// Forgets the answers, and what ran.
    func forget() {
        taken = [:]
        dock.numbers.withLock { $0 = [] }
    }

    private func take(_ frame: RawPeer.Frame) {
        guard frame.kind == 3 else { return }
        var body = frame.body[...]
        guard let question = RawPeer.takeNumber(&body), question == 4 || question >= Self.question(0) else { return }
        // Empty tables, no objects, and the length of the values.
        body = body.dropFirst(4)
        guard let first = body.popFirst() else { return }
        if frame.flags == 2 {
            taken[question] = .refused(first)
        } else {
            let value = first == 0xC3 ? RawPeer.takeNumber(&body).map { Int($0 / 2) } : Int(first)
            taken[question] = .result(value ?? -1)
        }
    }

    /// Ends the connection, and checks that nothing is left.
    func end() async {
        dock.go.send()
        raw.close()
        _ = await connection.ended
        #expect(connection.statistics.isAtRest, "\(connection.statistics)")
    }
}
