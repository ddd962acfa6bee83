import DistantObjects
import KeyedArchive
import PortTransport
import Synchronization

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// What each side can be asked.
///
/// All bytes follow from the seeds in the arguments.
struct HostInterface: Interface {
    /// Takes bytes of a seed, and returns so many of the seed mixed with 1.
    let exchange = Signature<[UInt8], UInt64, [UInt8], Int>("exchange")
    let exchangeData = Signature<Data, UInt64, Data, Int>("exchangeData")
    /// The same after a short time, in which the caller may give up.
    let slow = Signature<[UInt8], UInt64, [UInt8], Int>("slow")
    /// Calls the host back, which calls this one back, and so on.
    let nested = Signature<UInt64, Remote<HostInterface>, UInt64, Int, Int>("nested")
    /// Bytes in shared memory, both ways.
    let share = Signature<SharedBytes, SharedBytes, UInt64, Int>("share")
    /// A host of another number, for promises.
    let child = Signature<Remote<HostInterface>, UInt64>("child")
    let number = Signature<UInt64>("number")
    let notebook = Signature<Remote<NotebookInterface>, UInt64>("notebook")
    let items = Signature<DistantStream<[UInt8]>.WithFinal<UInt64>, UInt64, Int>("items")
    let children = Signature<DistantStream<Remote<HostInterface>>, UInt64, Int>("children")
    let collect = Signature<Int, DistantStream<[UInt8]>, UInt64, Int>("collect")
    let graph = Signature<Graph, Graph, UInt64>("graph")
    /// Has this side send traffic of its own until the time is over; returns the number of operations.
    let drive = Signature<UInt64, String, UInt64, Double>("drive")
}

/// One-way messages that arrive in order, each once.
struct NotebookInterface: Interface {
    let note = Signature<Void, Int, [UInt8]>("note")
    let count = Signature<Int>("count")
}

/// Serves the other side, and checks everything that comes.
final class Host: Vendable, Implements {
    typealias I = HostInterface

    private let id: UInt64
    /// Sends this side's own traffic.
    private let driver: (@Sendable (RoundSettings, UInt64, Double) async throws -> UInt64)?

    init(_ id: UInt64, driver: (@Sendable (RoundSettings, UInt64, Double) async throws -> UInt64)? = nil) {
        self.id = id
        self.driver = driver
    }

    static var messages: MessageTable<Host> {
        Message(\I.exchange, Host.exchange)
        Message(\I.exchangeData, Host.exchangeData)
        Message(\I.slow, Host.slow)
        Message(\I.nested, Host.nested)
        Message(\I.share, Host.share)
        Message(\I.child, Host.child)
        Message(\I.number, Host.number)
        Message(\I.notebook, Host.notebook)
        Message(\I.items, Host.items)
        Message(\I.children, Host.children)
        Message(\I.collect, Host.collect)
        Message(\I.graph, Host.graph)
        Message(\I.drive, Host.drive)
    }

    func exchange(_ seed: UInt64, _ bytes: [UInt8], _ count: Int) -> [UInt8] {
        Pattern.check(bytes, seed, bytes.count, "the argument of exchange")
        return Pattern.bytes(Pattern.mixed(seed, 1), count)
    }

    func exchangeData(_ seed: UInt64, _ bytes: Data, _ count: Int) -> Data {
        Pattern.check(bytes, seed, bytes.count, "the argument of exchangeData")
        return Data(Pattern.bytes(Pattern.mixed(seed, 1), count))
    }

    func slow(_ seed: UInt64, _ bytes: [UInt8], _ count: Int) async -> [UInt8] {
        Pattern.check(bytes, seed, bytes.count, "the argument of slow")
        try? await Task.sleep(for: .microseconds(Int64(seed % 3_000)))
        return Pattern.bytes(Pattern.mixed(seed, 1), count)
    }

    func nested(_ host: Remote<HostInterface>, _ seed: UInt64, _ count: Int, _ depth: Int) async throws -> UInt64 {
        guard depth > 0 else { return seed }
        let bytes = try await host.exchange(seed, Pattern.bytes(seed, count), count)
        Pattern.check(bytes, Pattern.mixed(seed, 1), count, "the answer of a callback")
        let next = Pattern.mixed(seed, 2)
        return try await host.nested(Remote(vending: self), next, count, depth - 1)
    }

    func share(_ bytes: SharedBytes, _ seed: UInt64, _ count: Int) throws -> SharedBytes {
        Pattern.check([UInt8](bytes), seed, bytes.count, "the argument of share")
        let own = Pattern.bytes(Pattern.mixed(seed, 1), count)
        guard let connection = Connection.current else { Verdict.fail("a method has no connection") }
        return try connection.withBlob(byteCount: count) { $0.copyBytes(from: own) }
    }

    func child(_ number: UInt64) -> Host { Host(Pattern.mixed(id, number)) }
    func number() -> UInt64 { id }
    func notebook(_ seed: UInt64) -> Notebook { Notebook(seed) }

    func items(_ seed: UInt64, _ count: Int) -> DistantStream<[UInt8]>.WithFinal<UInt64> {
        DistantStream<[UInt8]>.WithFinal { writer in
            for index in 0..<count { try await writer.send(Pattern.item(seed, index)) }
            return Pattern.mixed(seed, count)
        }
    }

    func children(_ seed: UInt64, _ count: Int) -> DistantStream<Remote<HostInterface>> {
        DistantStream { writer in
            for index in 0..<count { try await writer.send(Remote(vending: Host(Pattern.mixed(seed, index)))) }
        }
    }

    func collect(_ stream: DistantStream<[UInt8]>, _ seed: UInt64, _ count: Int) async throws -> Int {
        var index = 0
        for try await item in stream {
            guard item == Pattern.item(seed, index) else {
                Verdict.fail("item \(index) of a stream that came as an argument")
            }
            index += 1
        }
        guard index == count else { Verdict.fail("\(index) items in place of \(count) came as an argument") }
        return index
    }

    func graph(_ graph: Graph, _ seed: UInt64) -> Graph {
        graph.check(seed)
        return Graph(Pattern.mixed(seed, 1))
    }

    func drive(_ settings: String, _ seed: UInt64, _ seconds: Double) async throws -> UInt64 {
        guard let driver, let settings = RoundSettings(settings) else { Verdict.fail("this side cannot drive") }
        return try await driver(settings, seed, seconds)
    }
}

/// Checks one-way messages.
final class Notebook: Vendable, Implements {
    typealias I = NotebookInterface

    private let seed: UInt64
    private let notes = Atomic<Int>(0)

    init(_ seed: UInt64) { self.seed = seed }

    static var messages: MessageTable<Notebook> {
        Message(\I.note, Notebook.note)
        Message(\I.count, Notebook.count)
    }

    func note(_ index: Int, _ bytes: [UInt8]) {
        guard index == notes.load(ordering: .relaxed) else {
            Verdict.fail("one-way message \(index) comes when \(notes.load(ordering: .relaxed)) have come")
        }
        guard bytes == Pattern.item(seed, index) else { Verdict.fail("the bytes of one-way message \(index)") }
        notes.store(index + 1, ordering: .relaxed)
    }

    func count() -> Int { notes.load(ordering: .relaxed) }
}
