import DistantObjects
import FooBar
import KeyedArchive
import PortTransport

// Does one work a number of times, on one thread and without the kernel, for a tool that counts instructions:
// `instruction-count WORK TIMES`. Without arguments it prints the names of the works.

final class Server: Vendable {
    static var messages: MessageTable<Server> {
        Message("next", Server.next)
        Message("nextInTask", Server.nextInTask)
        Message("note", Server.note)
        Message("callBack", Server.callBack)
        Message("echo", Server.echo)
        Message("count", Server.count)
    }

    func next(_ number: Int) -> Int { number + 1 }
    @concurrent func nextInTask(_ number: Int) async -> Int { number + 1 }
    func note(_ number: Int) {}
    @concurrent func callBack(_ caller: DistantObject, _ number: Int) async throws -> Int {
        try await caller.next(number)
    }
    func echo(_ bar: Bar) -> Bar { bar }
    func count(_ limit: Int) -> DistantStream<Int> {
        DistantStream { writer in for number in 0..<limit { try await writer.send(number) } }
    }
}

/// Two ends of a connection on one loop that this thread drives.
final class Line: Sendable {
    let loop = ManualLoop()
    let client: Connection
    private let server: Connection

    init() throws {
        let (first, second) = MemoryLink.pair(capacity: 1 << 16)
        var configuration = Connection.Configuration()
        configuration.loop = loop
        client = try Connection.make(first, configuration, isInitiator: true)
        server = try Connection.make(second, configuration, isInitiator: false)
        server.vend(Server())
        server.begin()
        client.begin()
        loop.runUntilIdle()
    }

    /// Runs a task and what it causes, to its end.
    func run(_ body: @escaping @Sendable (Connection, DistantObject) async throws -> Void) throws {
        let outcome = Outcome()
        Task(executorPreference: loop) { [client] in
            do {
                try await body(client, try await client.root)
                outcome.result = .success(())
            } catch { outcome.result = .failure(error) }
        }
        while outcome.result == nil {
            guard loop.runOne() else { throw Stuck() }
        }
        try outcome.result?.get()
    }

    /// Written and read on the thread that drives the loop.
    private final class Outcome: @unchecked Sendable {
        var result: Result<Void, any Error>?
    }
}

/// The work waits for something that is not on the loop.
struct Stuck: Error {}
/// An answer is not what it should be.
struct WrongAnswer: Error {}

@main
struct InstructionCount {
    /// Works that call the root of a connection.
    private static let calls: [String: @Sendable (Connection, DistantObject, Int) async throws -> Void] = [
        "call": { _, root, times in
            for number in 0..<times { try expect(number + 1, try await root.next(number)) }
        },
        "call-of-task": { _, root, times in
            for number in 0..<times { try expect(number + 1, try await root.nextInTask(number)) }
        },
        "callback": { _, root, times in
            let caller = Server()
            for number in 0..<times { try expect(number + 1, try await root.callBack(caller, number)) }
        },
        "one-way": { connection, root, times in
            for number in 0..<times {
                try await root.note.oneWay(number)
                if number % 100 == 99 { try await connection.barrier() }
            }
        },
        "graph": { _, root, times in
            let bar = Bar()
            for _ in 0..<times {
                let back: Bar = try await root.echo(bar)
                try expect(bar.foos.count, back.foos.count)
            }
        },
        "stream-item": { _, root, times in
            let stream: DistantStream<Int> = try await root.count(times)
            var next = 0
            for try await number in stream {
                try expect(next, number)
                next += 1
            }
            try expect(times, next)
        },
    ]

    private static let others: [String: @Sendable (Int) throws -> Void] = [
        "connect": { times in
            for number in 0..<times {
                try Line().run { client, root in
                    try expect(number + 1, try await root.next(number))
                    await client.close()
                }
            }
        },
        "archive-object": { times in _ = try KeyedArchiver.archive(foos(times)) },
        "unarchive-object": { times in
            let archive = try KeyedArchiver.archive(foos(1_000))
            for _ in 0..<times / 1_000 {
                try expect(1_000, try KeyedUnarchiver.unarchive([Foo].self, from: archive).count)
            }
        },
    ]

    private static func foos(_ count: Int) -> [Foo] { (0..<count).map { Foo(name: "name \($0)", age: $0) } }

    private static func expect(_ expected: Int, _ found: Int) throws {
        guard found == expected else { throw WrongAnswer() }
    }

    static func main() throws {
        let arguments = CommandLine.arguments
        guard arguments.count == 3, let times = Int(arguments[2]) else {
            return print((Array(calls.keys) + Array(others.keys)).sorted().joined(separator: "\n"))
        }
        if let call = calls[arguments[1]] {
            try Line().run { try await call($0, $1, times) }
        } else {
            try others[arguments[1]]?(times)
        }
    }
}
