import Dispatch
import DistantObjects
import Synchronization

struct NoteInterface: Interface {
    let write = Signature<Void, String>("write")
    let text = Signature<String>("text")
}

/// A message for each property that a call has.
struct OfficeInterface: Interface {
    let echo = Signature<Int, Int>("echo")
    let foo = Signature<Foo, Foo>("foo")
    let hold = Signature<Int>("hold")
    let block = Signature<Void>("block")
    let log = Signature<Void, Int>("log")
    let logged = Signature<[Int]>("logged")
    let fail = Signature<Void, Int>("fail")
    let metadata = Signature<[String: String]>("metadata")
    let timeLeft = Signature<Double?>("timeLeft")
    let caller = Signature<Caller>("caller")
    let bytes = Signature<[UInt8], [UInt8]>("bytes")
    let shared = Signature<SharedBytes, Int>("shared")
    let count = Signature<DistantStream<Int>.WithFinal<Int>, Int>("count")
    let sum = Signature<Int, DistantStream<Int>>("sum")
    let lose = Signature<DistantStream<Int>, Int>("lose")
    let note = Signature<Remote<NoteInterface>, String>("note")
    let later = Signature<Remote<NoteInterface>, Int>("later")
    let tell = Signature<Void, Remote<NoteInterface>, String>("tell")
    let same = Signature<Remote<NoteInterface>, Remote<NoteInterface>>("same")
    let work = Signature<Int, ProgressReporter>("work")
    let passOn = Signature<Int, Remote<OfficeInterface>>("passOn")
}

/// What a newer program asks of an office.
struct NewerOfficeInterface: Interface {
    let echo = Signature<Int, Int>("echo")
    let missing = Signature<Void>("missing", since: 2)
}

/// What a method knows of its caller.
struct Caller: Codable, Equatable {
    var isKnown: Bool
    var pid: Int32?
}

struct Unlisted: Error, Codable {
    var number = 7
}

final class Note: Vendable, Implements {
    typealias I = NoteInterface

    private let content: Mutex<String>

    static var messages: MessageTable<Note> {
        Message(\I.write, Note.write)
        Message(\I.text, Note.text)
    }

    init(_ text: String = "") { content = Mutex(text) }

    func write(_ text: String) { content.withLock { $0 = text } }
    func text() -> String { content.withLock { $0 } }
}

final class Office: Vendable, Implements {
    typealias I = OfficeInterface

    let started = Signal()
    let stopped = Signal()
    let go = Signal()
    let gate = DispatchSemaphore(value: 0)
    /// The foo that a call brought last.
    let brought = Locked<Foo?>(nil)
    private let numbers = Mutex<[Int]>([])

    static var messages: MessageTable<Office> {
        Message(\I.echo, Office.echo)
        Message(\I.foo, Office.foo)
        Message(\I.hold, Office.hold)
        Message(\I.block, Office.block)
        Message(\I.log, Office.log)
        Message(\I.logged, Office.logged)
        Message(\I.fail, Office.fail)
        Message(\I.metadata, Office.metadata)
        Message(\I.timeLeft, Office.timeLeft)
        Message(\I.caller, Office.caller)
        Message(\I.bytes, Office.bytes)
        Message(\I.shared, Office.shared)
        Message(\I.count, Office.count)
        Message(\I.sum, Office.sum)
        Message(\I.lose, Office.lose)
        Message(\I.note, Office.note)
        Message(\I.later, Office.later)
        Message(\I.tell, Office.tell)
        Message(\I.same, Office.same)
        Message(\I.work, Office.work)
        Message(\I.passOn, Office.passOn)
    }

    func echo(_ number: Int) -> Int { number }

    func foo(_ foo: Foo) -> Foo {
        brought.withLock { $0 = foo }
        return foo
    }

    /// Returns when the test says so, or when it is cancelled.
    func hold() async throws -> Int {
        started.send()
        defer { stopped.send() }
        await withTaskCancellationHandler {
            await go.wait()
        } onCancel: {
            go.send()
        }
        try Task.checkCancellation()
        return 7
    }

    func block() {
        started.send()
        gate.wait()
    }

    func log(_ number: Int) { numbers.withLock { $0.append(number) } }
    func logged() -> [Int] { numbers.withLock { $0 } }

    func fail(_ kind: Int) throws {
        switch kind {
        case 0: throw NotFound(name: "it")
        case 1: throw Unlisted()
        case 2: throw Secret()
        case 3: throw ConnectionError(.overloaded, "of another connection")
        default: throw CancellationError()
        }
    }

    func metadata() -> [String: String] { CallContext.current.metadata }
    func timeLeft() -> Double? { CallContext.current.timeLeft.map { $0 / .seconds(1) } }

    func caller() -> Caller {
        let connection = Connection.current
        return Caller(isKnown: connection != nil, pid: connection?.peer?.pid)
    }

    func bytes(_ bytes: [UInt8]) -> [UInt8] { bytes }

    func shared(_ count: Int) throws -> SharedBytes {
        guard let connection = Connection.current else { throw NotFound(name: "the connection") }
        return try connection.withBlob(byteCount: count) { $0.initializeMemory(as: UInt8.self, repeating: 3) }
    }

    func count(_ count: Int) -> DistantStream<Int>.WithFinal<Int> {
        DistantStream<Int>.WithFinal { [self] writer in
            defer { stopped.send() }
            for number in 0..<count { try await writer.send(number) }
            return count
        }
    }

    func sum(_ numbers: DistantStream<Int>) async throws -> Int { try await numbers.reduce(0, +) }

    func lose(_ count: Int) -> DistantStream<Int> {
        DistantStream { writer in
            for number in 0..<count { try await writer.send(number) }
            throw NotFound(name: "the rest")
        }
    }

    func note(_ text: String) -> Note { Note(text) }

    func later(_ number: Int) async throws -> Note {
        _ = try await hold()
        return Note("\(number)")
    }

    func tell(_ note: Remote<NoteInterface>, _ text: String) async throws { try await note.write(text) }
    func same(_ note: Remote<NoteInterface>) -> Remote<NoteInterface> { note }

    func work(_ progress: ProgressReporter) -> Int {
        for step in 1...3 { progress.report(Int64(step), of: 3) }
        return 3
    }

    func passOn(_ other: Remote<OfficeInterface>) -> TailCall<Int> { other.echo.tailCall(5) }
}
