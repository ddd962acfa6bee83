import DistantObjects
import Synchronization
import TestSupport
import Testing

#if canImport(FoundationEssentials)
    import FoundationEssentials
    import Glibc
#else
    import Foundation
#endif

/// Launches the example's server and kills it at different moments.
///
/// These tests run in a separate process, because they count its resources.
@Suite("Killing a helper process", .serialized, .bounded())
struct KilledProcessTests {
    @Test("Over a socketpair, each call ends once and nothing is left")
    func socketpair() async {
        await #expect(processExitsWith: .success) { try await Helper.killAll(over: .socket) }
    }

    #if !canImport(Darwin)
        @Test("In shared memory, each call ends once and nothing is left")
        func sharedMemory() async {
            await #expect(processExitsWith: .success) {
                try await Helper.killAll(over: .sharedMemory)
            }
        }
    #endif

    @Test("Over standard streams, each call ends once and nothing is left")
    func pipesInKilledProcess() async {
        await #expect(processExitsWith: .success) { try await Helper.killAll(over: .pipes) }
    }

    @Test("Before its Hello, launching fails and nothing is left")
    func handshakeInKilledProcess() async {
        await #expect(processExitsWith: .success) {
            let before = Usage.channels.count
            for transport in [ChildProcess.Transport.socketpair, .pipes] {
                for _ in 0..<5 {
                    await expectCode(.closed) {
                        _ = try await Connection.launch(
                            "/bin/sh", arguments: ["-c", "kill -9 $$"], over: transport,
                            configuration: .patient)
                    }
                    var configuration = Connection.Configuration.patient
                    configuration.handshakeTimeout = .milliseconds(20)
                    await expectCode(.handshakeTimeout) {
                        _ = try await Connection.launch(
                            "/bin/sleep", arguments: ["1000"], over: transport, configuration: configuration)
                    }
                }
            }
            // This helper ignores the signal to terminate, because it inherits that from its parent.
            signal(SIGTERM, SIG_IGN)
            var configuration = Connection.Configuration.patient
            configuration.handshakeTimeout = .milliseconds(20)
            await expectCode(.handshakeTimeout) {
                _ = try await Connection.launch("/bin/sleep", arguments: ["1000"], configuration: configuration)
            }
            await eventually("the channels are closed") { Usage.channels.count <= before }
            #expect(Usage.channels.count <= before)
            // All that were launched are reaped.
            await eventually("no child is left") { Usage.children.isEmpty }
        }
    }
}

/// A launched server that is killed at some moment.
private final class Helper: Sendable {
    private let process: KilledProcess
    /// The number of notes received when it was killed.
    private let notes: Int
    /// The outcomes of the calls under way at that time.
    private let outcomes = Mutex<[ConnectionError.Code?: Int]>([:])

    /// A moment at which it is killed.
    private struct Moment: Sendable {
        let name: String
        /// Each of them has to occur, though not each time.
        let outcomes: Set<ConnectionError.Code?>
        let run: @Sendable (Helper) async throws -> Void
    }

    private static let moments = [
        Moment(name: "idle", outcomes: []) { try await $0.idle() },
        Moment(name: "with a proxy", outcomes: []) { try await $0.withProxy() },
        Moment(name: "unwritten", outcomes: [.notSent]) { try await $0.unwritten() },
        Moment(name: "unread", outcomes: [.outcomeUnknown]) { try await $0.unread() },
        Moment(name: "running", outcomes: [.outcomeUnknown]) { try await $0.running() },
        Moment(name: "queued", outcomes: [nil, .notSent]) { try await $0.queued() },
        Moment(name: "closing", outcomes: [.outcomeUnknown]) { try await $0.closing() },
        // Calls are under way, and a ping fails as closed.
        Moment(name: "busy", outcomes: [.outcomeUnknown, .closed]) { try await $0.busy() },
    ]

    private var connection: Connection { process.connection }

    static func killAll(over way: KilledProcess.Way) async throws {
        let seed = TestSeed.next()
        var random = SeededGenerator(seed: seed)
        var outcomes: [String: [ConnectionError.Code?: Int]] = [:]
        func killOnce(at moments: [Moment]) async throws {
            for moment in moments {
                let helper = try await Helper(over: way, notes: 1 + random.below(20))
                try await moment.run(helper)
                outcomes[moment.name, default: [:]].merge(helper.outcomes.withLock { $0 }, uniquingKeysWith: +)
            }
        }
        // After the first round, all cached resources exist.
        try await killOnce(at: moments)
        let usage = await UsageRecord()
        for _ in 0..<2 { try await killOnce(at: moments) }
        // Which calls are under way is random. After enough rounds, each outcome has occurred.
        func incomplete() -> [Moment] { moments.filter { !$0.outcomes.isSubset(of: (outcomes[$0.name] ?? [:]).keys) } }
        let deadline = ContinuousClock.now + TestTimeout.wait
        while !incomplete().isEmpty, ContinuousClock.now < deadline { try await killOnce(at: incomplete()) }
        #expect(incomplete().map(\.name) == [], "seed \(seed): \(outcomes)")
        await usage.expectNoMore()
    }

    private init(over way: KilledProcess.Way, notes: Int) async throws {
        self.notes = notes
        process = try await KilledProcess("FooBarServer", over: way)
    }

    private func kill() { process.kill() }

    /// Checks the outcome of a call that was under way, and notes it.
    private func expect(_ call: CountedCall, _ expected: ConnectionError.Code?...) async {
        let code = await call.expect(oneOf: expected)
        outcomes.withLock { $0[code, default: 0] += 1 }
    }

    private func expectEnd(_ isExpected: (ConnectionEnd) -> Bool = RawPeerConnection.isLost) async {
        await process.expectEnd(isExpected)
    }

    // MARK: The moments

    private func idle() async throws {
        kill()
        await expectEnd()
    }

    private func withProxy() async throws {
        let root = try await connection.root
        try await root.watch(Observer())
        kill()
        await expectEnd()
        await expectCode(.closed) { let _: [String] = try await root.notes() }
    }

    private func unwritten() async throws {
        let root = try await connection.root
        await connection.child?.stop()
        let frames = connection.statistics.framesOut
        let call = CountedCall { try await root.note(String(repeating: "x", count: 8 << 20)) }
        await eventually("it is committed") { self.connection.statistics.framesOut > frames }
        kill()
        await expect(call, .notSent)
        await expectEnd()
    }

    private func unread() async throws {
        let root = try await connection.root
        await connection.child?.stop()
        let before = connection.statistics.framesOut
        let calls = (0..<10).map { _ in CountedCall { try await root.note("a") } }
        let plain = connection
        let blocking = CountedCall { try await onThread { _ = try plain.blockingRoot() } }
        await eventually("all are committed") { self.connection.statistics.framesOut >= before + 11 }
        kill()
        // The call is queued, but may not be written yet.
        for call in calls + [blocking] { await expect(call, .outcomeUnknown, .notSent) }
        await expectEnd()
    }

    private func running() async throws {
        let root = try await connection.root
        let killer = Killer { self.kill() }
        try await root.watch(killer)
        // The server's method waits for the observer when it dies.
        let call = CountedCall { let _: Int = try await root.add(Foo(name: "a", age: 1)) }
        await expect(call, .outcomeUnknown)
        await expectEnd()
        #expect(killer.calls.count == 1)
    }

    private func queued() async throws {
        let root = try await connection.root
        await connection.child?.stop()
        // More than the server grants, so some wait for credit.
        let messages = (0..<1_100).map { number in CountedCall { try await root.note.oneWay("\(number)") } }
        await eventually("some wait") { self.connection.statistics.pending >= 50 }
        kill()
        for message in messages { await expect(message, nil, .notSent, .closed) }
        await expectEnd()
    }

    private func closing() async throws {
        let root = try await connection.root
        await connection.child?.stop()
        let call = CountedCall { try await root.note("a") }
        await eventually("it is committed") { self.connection.committedCalls == 1 }
        let connection = connection
        let close = CountedCall { await connection.close(timeout: TestTimeout.wait) }
        await connection.awaitClosing()
        kill()
        await expect(call, .outcomeUnknown, .notSent)
        await close.expect(nil)
        await expectEnd { if case .closedHere = $0 { true } else { false } }
    }

    /// During calls of all kinds.
    private func busy() async throws {
        let root = try await connection.root
        let observer = Observer()
        try await root.watch(observer)
        let calls = (0..<6).map { kind in
            CountedCall {
                while true {
                    switch kind {
                    case 0: try await root.note.oneWay("a")
                    case 1: let _: Int = try await root.add(Foo(name: "a", age: 1))
                    case 2: let _: DistantObject? = try await root.observer()
                    case 3: try await root.note(String(repeating: "y", count: 100_000))
                    case 4: try await onThread { let _: DistantObject? = try root.observer.blocking() }
                    default: try await self.connection.ping()
                    }
                }
            }
        }
        await observer.noted.wait(for: notes)
        kill()
        for call in calls { await expect(call, .outcomeUnknown, .notSent, .closed) }
        await expectEnd()
    }
}

/// An observer that does something before it answers.
private final class Killer: Vendable {
    let calls = Signal()
    private let action: @Sendable () -> Void

    init(_ action: @escaping @Sendable () -> Void) {
        self.action = action
    }

    static var messages: MessageTable<Killer> {
        Message("added", Killer.added)
    }

    func added(_ name: String) {
        calls.send()
        action()
    }
}
