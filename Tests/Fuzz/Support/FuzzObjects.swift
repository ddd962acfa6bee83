import Synchronization

@testable import DistantObjects
@testable import KeyedArchive

/// The number of living objects of the classes in this file.
let living = Atomic<Int>(0)

/// A node of a graph by copy, with cycles.
final class FuzzNode: ObjectCoding {
    var name: String
    var children: [FuzzNode]
    weak var parent: FuzzNode?

    init(_ name: String, _ children: [FuzzNode] = []) {
        self.name = name
        self.children = children
        living.add(1, ordering: .relaxed)
        for child in children { child.parent = self }
    }

    init(coder: ObjectDecoder) throws {
        name = try coder.decode(String.self, forKey: "name")
        children = try coder.decode([FuzzNode].self, forKey: "children")
        living.add(1, ordering: .relaxed)
        try coder.decodeReference(FuzzNode.self, forKey: "parent") { self.parent = $0 }
    }

    deinit { living.subtract(1, ordering: .relaxed) }

    func encode(with coder: ObjectEncoder) throws {
        try coder.encode(name, forKey: "name")
        try coder.encode(children, forKey: "children")
        try coder.encodeConditional(parent, forKey: "parent")
    }
}

struct FuzzError: Error, Codable {
    var text: String
    var object: DistantObject?
}

/// What is asked of objects of the peer, of which it gives the classes.
struct FuzzInterface: Extending {
    typealias Base = FuzzBaseInterface

    let text = Signature<Int, [String: [String?]]>("text")
    let give = Signature<DistantObject>("give")
    let numbers = Signature<DistantStream<[Int]>, Int>("numbers")
    let later = Signature<String?, Int>("later", since: 2, olderTypeNames: ["Optional<String>": "String"])
}

struct FuzzBaseInterface: Interface {
    let echo = Signature<Int, Int>("echo")
    let note = Signature<Void, Int>("note")
}

/// The object that the peer calls, with a method of each kind.
final class FuzzDirectory: Vendable {
    private struct State {
        var kept: [DistantObject] = []
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    // Accessed only by the one thread that drives the loop.
    private let state = Mutex(State())

    init() { living.add(1, ordering: .relaxed) }
    deinit { living.subtract(1, ordering: .relaxed) }

    static var messages: MessageTable<FuzzDirectory> {
        Message("echo", FuzzDirectory.echo)
        Message("text", FuzzDirectory.text)
        Message("node", FuzzDirectory.node)
        Message("bytes", FuzzDirectory.bytes)
        Message("note", FuzzDirectory.note)
        Message("fail", FuzzDirectory.fail)
        Message("keep", FuzzDirectory.keep)
        Message("give", FuzzDirectory.give)
        Message("own", FuzzDirectory.own)
        Message("tell", FuzzDirectory.tell)
        Message("think", FuzzDirectory.think)
        Message("wait", FuzzDirectory.wait)
        Message("copy", FuzzDirectory.copy)
        Message("back", FuzzDirectory.back)
        Message("numbers", FuzzDirectory.numbers)
        Message("objects", FuzzDirectory.objects)
        Message("sum", FuzzDirectory.sum)
        Message("take", FuzzDirectory.take)
    }

    func echo(_ number: Int) -> Int { number }
    func text(_ texts: [String: [String?]]) -> Int { texts.count }
    func node(_ node: FuzzNode) -> FuzzNode { node }
    func bytes(_ bytes: [UInt8]) -> [UInt8] { bytes }
    func note(_ number: Int) {}
    func fail(_ text: String) throws { throw FuzzError(text: text, object: DistantObject(standingFor: self)) }
    func own(_ object: FuzzDirectory) -> Bool { object === self }
    func give() -> FuzzDirectory { FuzzDirectory() }
    func back(_ object: DistantObject) -> DistantObject { object }
    func copy(_ node: ByCopy<FuzzNode>) -> ByCopy<FuzzNode> { node }

    func take(_ streams: [DistantStream<[Int]>]) {}

    func numbers(_ count: Int) -> DistantStream<[Int]> {
        DistantStream { writer in
            for number in 0..<min(count, 400) {
                try await writer.send([Int](repeating: number, count: number % 200 == 77 ? 70_000 : 1))
                if number % 16 == 3 { await Task.yield() }
            }
            throw FuzzError(text: "no more", object: nil)
        }
    }

    func objects(_ count: Int) -> DistantStream<DistantObject>.WithFinal<String> {
        DistantStream<DistantObject>.WithFinal { writer in
            for _ in 0..<min(count, 50) { try await writer.send(DistantObject(standingFor: FuzzDirectory())) }
            return "all"
        }
    }

    @concurrent func sum(_ numbers: DistantStream<Int>) async throws -> Int {
        var sum = 0
        for try await number in numbers { sum &+= number }
        return sum
    }

    func keep(_ object: DistantObject) -> DistantObject? {
        // Reads the description of its class.
        let typed = try? Remote<FuzzInterface>(object)
        _ = typed?.later.isAvailable
        return state.withLock { state in
            state.kept.append(object)
            return state.kept.count > 4 ? state.kept.removeFirst() : nil
        }
    }

    @concurrent func tell(_ object: DistantObject, _ number: Int) async throws -> Int {
        try await object.note.oneWay(number)
        // Both pass on the metadata of this call, and what is added.
        return try await CallContext.with(metadata: ["tell": "\(number)"]) { try await object.echo(number) }
    }

    @concurrent func think(_ pauses: Int) async -> Int {
        for _ in 0..<(pauses & 7) { await Task.yield() }
        return pauses
    }

    /// Returns when the call is cancelled; the end of a connection also cancels it.
    @concurrent func wait() async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isCancelled = state.withLock { state in
                    if Task.isCancelled { return true }
                    state.waiting.append(continuation)
                    return false
                }
                if isCancelled { continuation.resume() }
            }
        } onCancel: {
            let waiting = state.withLock { state in
                defer { state.waiting = [] }
                return state.waiting
            }
            for continuation in waiting { continuation.resume() }
        }
    }
}
