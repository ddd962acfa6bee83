import CAllocationCount
import DistantObjects
import FooBar
import KeyedArchive

// Prints how many blocks of memory each of some works allocates, on both ends of a connection together: `work blocks`; how
// many bytes an idle connection keeps: `idle-connection bytes`; or that they are not counted here.

final class Server: Vendable {
    static var messages: MessageTable<Server> {
        Message("next", Server.next)
        Message("nextInTask", Server.nextInTask)
        Message("note", Server.note)
        Message("callBack", Server.callBack)
        Message("age", Server.age)
    }

    func next(_ number: Int) -> Int { number + 1 }
    @concurrent func nextInTask(_ number: Int) async -> Int { number + 1 }
    func note(_ number: Int) {}
    @concurrent func callBack(_ caller: DistantObject, _ number: Int) async throws -> Int {
        try await caller.next(number)
    }
    func age(_ foo: Foo) -> Int { foo.age }
}

/// Counts what a work allocates, once what it keeps for the next time is there.
///
/// - Returns: Blocks for each time.
func blocks(times: Int = 2_000, _ work: () async throws -> Void) async rethrows -> Double {
    for _ in 0..<200 { try await work() }
    let before = allocation_count()
    for _ in 0..<times { try await work() }
    return Double(allocation_count() - before) / Double(times)
}

/// The bytes that an idle connection keeps, both ends together, once it has made a call.
///
/// The least of some groups of connections. In the others, memory for all connections may be allocated as well: a table that
/// doubles, or the buffers of a thread that takes over the event loop on a busy machine.
func bytesOfIdleConnection(groups: Int = 7, count: Int = 60) async throws -> Double {
    var connections: [(Connection, Connection)] = []
    connections.reserveCapacity(groups * count)
    let object = Server()
    var least = Int.max
    for _ in 0..<groups {
        let before = allocation_held_bytes()
        for _ in 0..<count {
            let (client, server) = try await Connection.pair()
            server.vend(object)
            let _: Int = try await client.root.next(1)
            connections.append((client, server))
        }
        least = min(least, allocation_held_bytes() - before)
    }
    for (client, server) in connections {
        client.invalidate()
        server.invalidate()
    }
    return Double(least) / Double(count)
}

@main
struct AllocationCount {
    static func main() async throws {
        guard allocation_is_counted() else { return print("not counted") }
        // The library's own time for look-ups may be too short on a busy machine.
        var patient = Connection.Configuration()
        patient.lookupTimeout = .seconds(600)
        let (client, server) = try await Connection.pair(first: patient, second: patient)
        server.vend(Server())
        let root = try await client.root
        let caller = Server()
        try await client.run {
            let foo = Foo(name: "Juliana", age: 30)
            report("call", try await blocks { let _: Int = try await root.next(1) })
            report("call-of-task", try await blocks { let _: Int = try await root.nextInTask(1) })
            report("callback", try await blocks { let _: Int = try await root.callBack(caller, 1) })
            report("object", try await blocks { let _: Int = try await root.age(foo) })
            report(
                "one-way",
                try await blocks(times: 100) {
                    for _ in 0..<100 { try await root.note.oneWay(1) }
                    try await client.barrier()
                } / 100)
        }
        await client.close()
        report("idle-connection", try await bytesOfIdleConnection())
        let foos = (0..<10_000).map { Foo(name: "name \($0)", age: $0) }
        report("archive-object", try await blocks(times: 10) { _ = try KeyedArchiver.archive(foos) } / 10_000)
        let archive = try KeyedArchiver.archive(foos)
        report(
            "unarchive-object",
            try await blocks(times: 10) { _ = try KeyedUnarchiver.unarchive([Foo].self, from: archive) } / 10_000)
    }

    static func report(_ work: String, _ count: Double) { print(work, count) }
}
