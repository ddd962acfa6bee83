import DistantObjects
import Synchronization
import TestSupport
import Testing

/// Programs of two versions: each calls a service of the other.
@Suite("Values and errors of different versions", .bounded())
struct ValueVersionTests {
    private static let transports: [Connection.PairTransport] = [.socketpair, .pipes]

    /// Connects a client that knows some types of errors with a service.
    private func connect(
        _ served: some Vendable & Implements, knowing errorTypes: [any (Error & Codable).Type],
        over transport: Connection.PairTransport = .socketpair
    ) async throws -> Pair {
        var configuration = Connection.Configuration.patient
        configuration.errorTypes = errorTypes
        let pair = try await Pair(client: configuration, over: transport)
        try pair.server.vend(served, as: "works")
        return pair
    }

    private func newClient(
        over transport: Connection.PairTransport = .socketpair
    ) async throws -> (Pair, Remote<New.WorksInterface>, Old.Works) {
        let served = Old.Works()
        let pair = try await connect(served, knowing: New.errorTypes, over: transport)
        return (pair, try await pair.client.root(named: "works", as: New.WorksInterface.self), served)
    }

    private func oldClient(
        over transport: Connection.PairTransport = .socketpair
    ) async throws -> (Pair, Remote<Old.WorksInterface>, New.Works) {
        let served = New.Works()
        let pair = try await connect(served, knowing: Old.errorTypes, over: transport)
        return (pair, try await pair.client.root(named: "works", as: Old.WorksInterface.self), served)
    }

    @Test("A new client gets defaults for what an old server leaves out", arguments: transports)
    func newClientValues(_ transport: Connection.PairTransport) async throws {
        let (pair, works, served) = try await newClient(over: transport)
        let sent = New.Job(path: "c", mode: .exact, shape: .square(side: 1), retries: 8, tags: ["t"], note: "n")
        #expect(
            try await works.run(sent)
                == New.Job(path: "c.done", mode: .fast, shape: .circle(radius: 2), retries: 3, tags: [], note: nil))
        let jobs = [
            New.Job(path: "a", mode: .fast, shape: .circle(radius: 1)),
            New.Job(path: "b", mode: .fast, shape: .unknown),
        ]
        #expect(try await works.sort([sent, jobs[0]]) == ["all": jobs])
        var read: [New.Job] = []
        for try await job in try await works.jobs(2) { read.append(job) }
        #expect(read == jobs)
        let seen = Old.Job(path: "c", mode: .unknown, shape: .unknown)
        #expect(served.seen.withLock { $0 } == [seen, seen, Old.Works.all[0]])
        #expect(!works.stop.isAvailable)
        await pair.client.close()
    }

    @Test("An old client skips new fields, and reads new cases as unknown", arguments: transports)
    func oldClientValues(_ transport: Connection.PairTransport) async throws {
        let (pair, works, served) = try await oldClient(over: transport)
        let sent = Old.Job(path: "c", mode: .fast, shape: .circle(radius: 5))
        #expect(try await works.run(sent) == Old.Job(path: "c.done", mode: .unknown, shape: .unknown))
        let jobs = [
            Old.Job(path: "a", mode: .unknown, shape: .circle(radius: 1)),
            Old.Job(path: "b", mode: .fast, shape: .unknown),
        ]
        #expect(try await works.sort([sent]) == ["all": jobs])
        let seen = New.Job(path: "c", mode: .fast, shape: .circle(radius: 5), retries: 3, tags: [], note: nil)
        #expect(served.seen.withLock { $0 } == [seen, seen])
        await pair.client.close()
    }

    @Test("A new case of a listed error arrives with its type and its text, also at the end of a stream")
    func newCase() async throws {
        let (pair, works, _) = try await oldClient()
        let error = await #expect(throws: RemoteError.self) { try await works.fail("broken") }
        #expect(error?.typeName == "WorksError" && error?.message == "broken(part: 4)", "\(error as Any)")
        #expect(error?.decodingFailure?.isEmpty == false)
        #expect("\(error as Any)".contains("not read as the WorksError that is listed here"))
        var read: [Old.Job] = []
        let ended = await #expect(throws: RemoteError.self) {
            for try await job in try await works.jobs(1) { read.append(job) }
        }
        #expect(ended?.typeName == "WorksError" && ended?.message == "broken(part: 1)", "\(ended as Any)")
        #expect(read == [Old.Job(path: "a", mode: .unknown, shape: .circle(radius: 1))])
        // The connection goes on, and the next error is read as its type.
        await #expect(throws: Old.WorksError.full) { try await works.fail("full") }
        await #expect(throws: Old.Trouble.unknown) { try await works.fail("flood") }
        await #expect(throws: Old.Failure(text: "no power")) { try await works.fail("failure") }
        await pair.client.close()
    }

    @Test("A thread without a task gets the type and the text of a new case, too")
    func blockingInValueVersion() async throws {
        let (pair, works, _) = try await oldClient()
        let error = try await onThread {
            #expect(throws: RemoteError.self) { try works.fail.blocking("broken") }
        }
        #expect(error?.typeName == "WorksError" && error?.message == "broken(part: 4)", "\(error as Any)")
        await pair.client.close()
    }

    @Test("An error with other fields arrives with its type and its text, in both directions")
    func otherFields() async throws {
        let (first, old, _) = try await oldClient()
        let (second, new, _) = try await newClient()
        let later = await #expect(throws: RemoteError.self) { try await old.fail("refusal") }
        #expect(later?.typeName == "Refusal" && later?.message.contains("too late") == true, "\(later as Any)")
        #expect(later?.decodingFailure?.contains("reason") == true, "\(later as Any)")
        let earlier = await #expect(throws: RemoteError.self) { try await new.fail("refusal") }
        #expect(earlier?.typeName == "Refusal" && earlier?.message.contains("too late") == true, "\(earlier as Any)")
        #expect(earlier?.decodingFailure?.contains("text") == true, "\(earlier as Any)")
        await #expect(throws: New.Failure(text: "no power", code: 0)) { try await new.fail("failure") }
        await #expect(throws: New.Trouble.fire) { try await new.fail("fire") }
        await #expect(throws: New.WorksError.full) { try await new.fail("full") }
        await first.client.close()
        await second.client.close()
    }

    @Test("An error that is not listed says nothing of reading it")
    func notListed() async throws {
        let pair = try await connect(New.Works(), knowing: [])
        let works = try await pair.client.root(named: "works", as: Old.WorksInterface.self)
        let error = await #expect(throws: RemoteError.self) { try await works.fail("broken") }
        #expect(error == RemoteError(typeName: "WorksError", message: "broken(part: 4)"))
        #expect(error?.decodingFailure == nil)
        await pair.client.close()
    }

    @Test("A field without a default fails at the call, and a new name of the type at the look-up")
    func newName() async throws {
        struct OtherTicket: Codable {
            var number: Int
            var date: String
        }
        struct OtherInterface: Interface {
            let ticket = Signature<OtherTicket, Int>("ticket")
        }
        let (pair, works, _) = try await newClient()
        let error = await #expect(throws: ConnectionError.self) { try await works.ticket(1) }
        #expect(error?.code == .wrongResult && error?.message.contains("date") == true, "\(error as Any)")
        let mismatch = await #expect(throws: ConnectionError.self) {
            try await pair.client.root(named: "works", as: OtherInterface.self)
        }
        #expect(mismatch?.code == .interfaceMismatch, "\(mismatch as Any)")
        await pair.client.close()
    }

    /// Types of interfaces with and without wrappers are the same on the wire.
    private struct WrappedInterface: Interface {
        let run = Signature<[Defaulted<New.Job.Retries>], [Defaulted<New.Job.Retries>]>("run")
    }

    private final class Counter: Vendable {
        static var messages: MessageTable<Counter> { Message("run", Counter.run) }
        func run(_ counts: [Int]) -> [Int] { counts.map { $0 + 1 } }
    }

    @Test("For interfaces a field with a default has the type of its value")
    func described() async throws {
        let pair = try await Pair()
        pair.server.vend(Counter(), as: "counter")
        let counter = try await pair.client.root(named: "counter", as: WrappedInterface.self)
        #expect(try await counter.run([.init(wrappedValue: 4)]).map(\.wrappedValue) == [5])
        await pair.client.close()
    }

    @Test("A program of the old version and this one call each other", arguments: [false, true])
    func processesInValueVersion(overPipes: Bool) async throws {
        var configuration = Connection.Configuration.patient
        configuration.errorTypes = New.errorTypes
        let own = New.Works()
        configuration.roots = ["": own]
        let connection = try await Connection.launch(
            try builtProgram("killed-peer"), environment: TestTimeout.environment,
            over: overPipes ? .pipes : .socketpair, configuration: configuration)
        let works = try await connection.root(named: "works", as: New.WorksInterface.self)
        let sent = New.Job(path: "c", mode: .exact, shape: .square(side: 1), retries: 8, tags: ["t"], note: "n")
        // What the old program does not know is lost where it passes a value on.
        #expect(
            try await works.run(sent)
                == New.Job(path: "c", mode: .unknown, shape: .unknown, retries: 3, tags: [], note: nil))
        await #expect(throws: New.WorksError.full) { try await works.fail("full") }
        let refusal = await #expect(throws: RemoteError.self) { try await works.fail("refusal") }
        #expect(refusal?.typeName == "Refusal" && refusal?.message.contains("too late") == true, "\(refusal as Any)")
        // It calls this process, which throws a case that it does not know, and says what it has got.
        let told = try await works.sort([sent])
        #expect(told.keys.sorted() == ["RemoteError WorksError broken(part: 4)"], "\(told)")
        #expect(
            told.values.first == [
                New.Job(path: "c.done", mode: .unknown, shape: .unknown, retries: 3, tags: [], note: nil)
            ])
        #expect(
            own.seen.withLock { $0 } == [
                New.Job(path: "c", mode: .unknown, shape: .unknown, retries: 3, tags: [], note: nil)
            ])
        await connection.close()
    }
}
