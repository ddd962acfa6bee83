import Dispatch
import DistantObjects
import Synchronization

final class Foo: ObjectCoding {
    var name: String
    var age: Int

    init(name: String, age: Int) {
        self.name = name
        self.age = age
    }

    init(coder: ObjectDecoder) throws {
        name = try coder.decode(String.self, forKey: "name")
        age = try coder.decode(Int.self, forKey: "age")
    }

    func encode(with coder: ObjectEncoder) throws {
        try coder.encode(name, forKey: "name")
        try coder.encode(age, forKey: "age")
    }
}

final class Bar: ObjectCoding {
    var foos: [Foo]

    init(_ foos: [Foo]) {
        self.foos = foos
    }

    init(coder: ObjectDecoder) throws {
        foos = try coder.decode([Foo].self, forKey: "foos")
    }

    func encode(with coder: ObjectEncoder) throws {
        try coder.encode(foos, forKey: "foos")
    }
}

class Shape: ObjectCoding {
    var x = 0

    init() {}

    required init(coder: ObjectDecoder) throws {
        x = try coder.decode(Int.self, forKey: "x")
    }

    func encode(with coder: ObjectEncoder) throws {
        try coder.encode(x, forKey: "x")
    }

    class var codingSubclasses: [any ObjectCoding.Type] { [Circle.self] }
}

final class Circle: Shape {
    var radius = 1.0

    override init() { super.init() }

    required init(coder: ObjectDecoder) throws {
        radius = try coder.decode(Double.self, forKey: "radius")
        try super.init(coder: coder)
    }

    override func encode(with coder: ObjectEncoder) throws {
        try coder.encode(radius, forKey: "radius")
        try super.encode(with: coder)
    }
}

struct NotFound: Error, Codable, Equatable {
    var name: String
}

struct Secret: Error {
    var path = "/home/somebody"
}

/// A value under a lock.
///
/// It need not be Sendable.
final class Locked<Value>: @unchecked Sendable {
    // `lock` protects `value`.
    private let lock = Mutex(())
    private var value: Value

    init(_ value: Value) {
        self.value = value
    }

    func withLock<Result>(_ body: (inout Value) throws -> Result) rethrows -> Result {
        lock._unsafeLock()
        defer { lock._unsafeUnlock() }
        return try body(&value)
    }
}

/// An event that a test waits for, instead of a sleep.
final class Signal: Sendable {
    private struct State {
        var count = 0
        var waiting: [(Int, CheckedContinuation<Void, Never>)] = []
    }

    private let state = Mutex(State())

    func send() {
        let due = state.withLock { state in
            state.count += 1
            let due = state.waiting.filter { $0.0 <= state.count }
            state.waiting.removeAll { $0.0 <= state.count }
            return due
        }
        for (_, continuation) in due { continuation.resume() }
    }

    func wait(for count: Int = 1) async {
        await withCheckedContinuation { continuation in
            let isDue = state.withLock { state in
                if state.count >= count { return true }
                state.waiting.append((count, continuation))
                return false
            }
            if isDue { continuation.resume() }
        }
    }

    var count: Int { state.withLock { $0.count } }
}

final class Observer: Vendable {
    let notes = Mutex<[String]>([])
    let noted = Signal()

    static var messages: MessageTable<Observer> {
        Message("note", Observer.note)
        Message("count", Observer.count)
        Message("added", Observer.note)
    }

    func note(_ text: String) {
        notes.withLock { $0.append(text) }
        noted.send()
    }

    func count() -> Int { notes.withLock { $0.count } }
}

/// An object with messages of every kind.
final class Directory: Vendable {
    let foos = Locked<[String: Foo]>([:])
    let observer = Mutex<DistantObject?>(nil)
    let started = Signal()
    let stopped = Signal()
    let go = Signal()
    let gate = DispatchSemaphore(value: 0)
    let log = Mutex<[Int]>([])
    let own = Observer()

    static var messages: MessageTable<Directory> {
        Message("add", Directory.add)
        Message("age", Directory.age)
        Message("names", Directory.names)
        Message("clear", Directory.clear)
        Message("echo", Directory.echo)
        Message("bar", Directory.bar)
        Message("shapes", Directory.shapes)
        Message("watch", Directory.watch)
        Message("tell", Directory.tell)
        Message("watcher", Directory.watcher)
        Message("observer", Directory.ownObserver)
        Message("isOwn", Directory.isOwn)
        Message("mine", Directory.isMine)
        Message("secret", Directory.secret)
        Message("wait", Directory.wait)
        Message("block", Directory.block)
        Message("blockInTask", Directory.blockInTask)
        Message("made", Directory.made)
        Message("fresh", Directory.fresh)
        Message("drop", Directory.drop)
        Message("dropping", Directory.dropping)
        Message("take", Directory.take)
        Message("failing", Directory.failing)
        Message("hold", Directory.hold)
        Message("holdWith", Directory.holdWith)
        Message("note", Directory.note)
        Message("noteSlowly", Directory.noteSlowly)
        Message("noteAndThrow", Directory.noteAndThrow)
        Message("bytes", Directory.bytes)
        Message("bounce", Directory.bounce)
        Message("copy", Directory.copy)
        Message("keep", Directory.keep)
        Message("forget", Directory.forget)
    }

    func add(_ foo: Foo) -> Int {
        foos.withLock { foos in
            foos[foo.name] = foo
            return foos.count
        }
    }

    func age(_ name: String) throws -> Int {
        guard let foo = foos.withLock({ $0[name] }) else { throw NotFound(name: name) }
        return foo.age
    }

    func names() -> [String] { foos.withLock { $0.keys.sorted() } }
    func clear() { foos.withLock { $0 = [:] } }
    func echo(_ number: Int) -> Int { number }

    func bar(_ bar: Bar) -> Bar {
        for foo in bar.foos { foo.age += 1 }
        return bar
    }

    func shapes(_ shapes: [Shape]) -> [Shape] { shapes }
    func watch(_ watcher: DistantObject) { observer.withLock { $0 = watcher } }

    func tell(_ text: String) async throws -> Int {
        guard let observer = observer.withLock({ $0 }) else { throw NotFound(name: "observer") }
        try await observer.note(text)
        return try await observer.count()
    }

    func watcher() -> DistantObject? { observer.withLock { $0 } }
    func ownObserver() -> Observer { own }
    func isOwn(_ object: Observer) -> Bool { object === own }
    func isMine(_ object: DistantObject) -> Bool { object.local(as: Observer.self) === own }
    func secret() throws { throw Secret() }

    func wait() async throws -> Int {
        started.send()
        defer { stopped.send() }
        try await Task.sleep(for: .seconds(3_600))
        return 1
    }

    func made(_ count: Int) -> [UInt8] { [UInt8](repeating: 1, count: count) }
    func fresh() -> Observer { Observer() }

    func dropping(_ argument: Dropping) -> Dropping { argument }
    func take(_ failing: Failing, _ other: DistantObject) -> Int { 1 }
    func failing(_ step: Int) -> Failing { Failing(step, Observer()) }

    /// Frees a proxy in the method, where no lock of the connection may be held.
    func drop(_ other: DistantObject) -> Int {
        observer.withLock { $0 = nil }
        return 1
    }

    /// Blocks its thread, and so this object, until the gate opens.
    func block() {
        started.send()
        gate.wait()
    }

    /// Blocks before it suspends.
    func blockInTask() async { block() }

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

    func holdWith(_ other: DistantObject) async throws -> DistantObject {
        _ = try await hold()
        return other
    }

    func note(_ number: Int) { log.withLock { $0.append(number) } }

    func noteSlowly(_ number: Int) async {
        log.withLock { $0.append(number) }
        await Task.yield()
        log.withLock { $0.append(-number) }
    }

    func noteAndThrow(_ number: Int) throws {
        log.withLock { $0.append(number) }
        throw NotFound(name: "\(number)")
    }

    func bytes(_ bytes: [UInt8]) -> [UInt8] { bytes }

    func bounce(_ other: DistantObject, _ me: DistantObject, _ depth: Int) async throws -> Int {
        if depth == 0 { return 0 }
        let deeper: Int = try await other.bounce(me, other, depth - 1)
        return deeper + 1
    }

    func copy(_ foo: ByCopy<Foo>) -> ByCopy<Foo> { foo }
    func keep(_ other: DistantObject) { observer.withLock { $0 = other } }
    func forget() { observer.withLock { $0 = nil } }
}

actor Counter: Vendable {
    private var total = 0
    private var last: Foo?

    static var messages: MessageTable<Counter> {
        Message("bump") { (counter: Counter) in { (step: Int) in await counter.bump(step) } }
        Message("take") { (counter: Counter) in { (foo: sending Foo) in await counter.take(foo) } }
    }

    func bump(_ step: Int) -> Int {
        total += step
        return total
    }

    func take(_ foo: sending Foo) -> Int {
        last = foo
        return foo.age
    }
}
