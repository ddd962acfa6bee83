import CFloor
import DistantObjects
import Synchronization

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The object that the launched process vends, with one message for each kind of work.
final class BenchServer: Vendable {
    private let noteCount = Atomic<Int64>(0)
    private let held = Mutex<[Connection]>([])

    @MessageTable<BenchServer>.Builder static var messages: MessageTable<BenchServer> {
        Message("itself", BenchServer.itself)
        Message("count", BenchServer.count)
        Message("null", BenchServer.null)
        Message("callBack", BenchServer.callBack)
        Message("sum", BenchServer.sum)
        Message("sumInPlace", BenchServer.sumInPlace)
        Message("note", BenchServer.note)
        Message("noted", BenchServer.noted)
        Message("length", BenchServer.length)
        Message("total", BenchServer.total)
        Message("stream", BenchServer.stream)
        Message("streamOfReferences", BenchServer.streamOfReferences)
        Message("answers", BenchServer.answers)
        Message("listen", BenchServer.listen)
        Message("welcome", BenchServer.welcome)
        Message("heldConnections", BenchServer.heldConnections)
        Message("letGo", BenchServer.letGo)
        Message("residentBytes", BenchServer.residentBytes)
        Message("usedTime", BenchServer.usedTime)
    }

    func itself() -> BenchServer { self }
    func count(_ objects: [DistantObject]) -> Int64 { Int64(objects.count) }
    func null(_ value: Int64) -> Int64 { value + 1 }

    func callBack(_ caller: DistantObject, _ value: Int64) async throws -> Int64 {
        try await caller.value(value)
    }

    func sum(_ bar: Bar) -> Int64 { bar.sumOfAges }

    /// The sum of the ages, without a Foo made.
    func sumInPlace(_ bar: GraphView<Bar>) throws -> Int64 {
        var sum: Int64 = 0
        for foo in try bar["foos", as: GraphList<Foo>.self] { sum += try foo["age"] }
        return sum
    }

    func note(_ value: Int64) {
        noteCount.add(1, ordering: .relaxed)
    }

    /// The number of notes since the last call.
    func noted() -> Int64 { noteCount.exchange(0, ordering: .relaxed) }

    func length(_ bytes: Data) -> Int64 { Int64(bytes.count) }

    /// The sum of the bytes, taken as words.
    func total(_ bytes: SharedBytes) -> Int64 {
        bytes.withUnsafeBytes { bytes in
            bytes.withMemoryRebound(to: Int64.self) { words in
                var sum: Int64 = 0
                for word in words { sum &+= word }
                return sum
            }
        }
    }

    /// Items of 64 bytes, of a source that does not suspend.
    func stream(_ count: Int64) -> DistantStream<[UInt8]> {
        DistantStream(repeatElement([UInt8](repeating: 7, count: 64), count: Int(count)))
    }

    /// An object of its own for each item.
    func streamOfReferences(_ count: Int64) -> DistantStream<DistantObject> {
        DistantStream((0..<count).lazy.map { _ in DistantObject(standingFor: Caller()) })
    }

    /// The answers to jobs, in their order.
    func answers(_ jobs: DistantStream<Data>) -> DistantStream<JobAnswer> {
        DistantStream { writer in
            for try await job in jobs { try await writer.send(JobAnswer(job)) }
        }
    }

    /// Listens at `path` and keeps every connection made there.
    func listen(_ path: String) throws {
        var configuration = Connection.Configuration()
        configuration.limits.connectionsOfPeer = configuration.limits.connections
        let listener = try Listener(at: .path(path), configuration: configuration)
        Task {
            for await connection in listener {
                connection.vend(["": self])
                held.withLock { $0.append(connection) }
            }
        }
    }

    /// Listens at `path` and keeps no connection made there.
    func welcome(_ path: String) throws {
        let listener = try Listener(at: .path(path))
        Task {
            for await connection in listener { connection.vend(["": self]) }
        }
    }

    func heldConnections() -> Int64 { Int64(held.withLock { $0.count }) }

    func letGo() {
        let connections = held.withLock { held in
            defer { held = [] }
            return held
        }
        for connection in connections { connection.invalidate() }
    }

    func residentBytes() -> Int64 { Int64(floorResidentBytes()) }
    func usedTime() -> Int64 { Int64(processorTime()) }

    /// Runs the launched process: vends the object and lives as long as the connection.
    static func serve(_ configuration: Connection.Configuration) async throws {
        _ = floorRaiseDescriptorLimit()
        let connection = try await Connection.parent(configuration: configuration)
        try connection.vend(BenchServer())
        _ = await connection.ended
    }
}

/// The object that the measuring process passes for callbacks.
final class Caller: Vendable {
    @MessageTable<Caller>.Builder static var messages: MessageTable<Caller> {
        Message("value", Caller.value)
    }

    func value(_ value: Int64) -> Int64 { value + 1 }
}
