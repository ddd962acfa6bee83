import Dispatch
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

@Suite("Where user code runs", .bounded())
struct UserCodeTests {
    @Test(
        "Event handlers, cancellations and last releases run on the loop, one at a time")
    func threadsInUserCode() async throws {
        let log = ThreadLog()
        var client = Connection.Configuration.patient
        client.onEvent = { if $0.code == .oneWayFailed { log.note("event") } }
        // The thread in the call is the only reader.
        let pair = try await Pair(client: client, over: .pipes)
        let other = Directory()
        pair.server.vend(other, as: "other")
        let directory = try await pair.client.root
        do {
            let proxy = try await pair.client.root(named: "other")
            try await proxy.block.oneWay()
            for number in 0..<20 { try await proxy.noteAndThrow.oneWay(number) }
            try await directory.keep(Witness(log))
            pair.client.vend(Witness(log), as: "waiting")
            let waiting = try await pair.server.root(named: "waiting")
            let call = Task { try await waiting.wait() }
            await log.waits.wait()
            let caller = Task {
                try await onThread {
                    log.caller.withLock { $0 = ThreadLog.thread }
                    let _: Int = try directory.hold.blocking()
                }
            }
            await pair.directory.started.wait()
            // From here on the calling thread reads frames whose actions run user code.
            other.gate.signal()
            call.cancel()
            pair.directory.observer.withLock { $0 = nil }
            await log.noted.wait(for: 22)
            pair.directory.go.send()
            try await caller.value
            _ = await call.result
        }
        let noted = log.entries.withLock { $0 }
        #expect(noted.count { $0.what == "event" } == 20)
        #expect(noted.contains { $0.what == "deinit" } && noted.contains { $0.what == "cancel" })
        #expect(!noted.contains { $0.thread == log.caller.withLock { $0 } })
        #expect(log.mostAtOnce.withLock { $0 } == 1)
        pair.client.invalidate()
        _ = await pair.server.ended
    }

    @Test("When methods block all threads of the loop, a blocking caller still gets its errors in time")
    func exhausted() async {
        // It blocks the loop of the whole process.
        await #expect(processExitsWith: .success) { try await Self.blockLoop() }
    }

    #if canImport(Glibc)
        @Test("The same without a free descriptor")
        func exhaustedWithoutDescriptors() async {
            await #expect(processExitsWith: .success) { try await Self.blockLoop { Usage.exhaustDescriptors() } }
        }
    #endif

    /// - Parameter prepare: Runs before the first blocking call.
    private static func blockLoop(_ prepare: () -> Void = {}) async throws {
        let exhausted = Signal()
        var client = Connection.Configuration.patient
        client.onEvent = { if $0.code == .threadsExhausted { exhausted.send() } }
        // The peer has a separate loop.
        var server = Connection.Configuration.patient
        server.polling = .off
        let pair = try await Pair(client: client, server: server, over: .pipes)
        let directory = try await pair.client.root
        // It is not known whether the call with a deadline starts, so that has an object of its own.
        pair.server.vend(Directory(), as: "other")
        let other = try await pair.client.root(named: "other")
        let blocked = (0..<64).map { _ in Directory() }
        pair.client.vend(Dictionary(uniqueKeysWithValues: blocked.enumerated().map { ("\($0)", $1) }))
        for index in blocked.indices {
            try await pair.server.root(named: "\(index)").block.oneWay()
        }
        await exhausted.wait()
        prepare()

        let late = Task {
            try await onThread {
                let before = computingTime()
                defer { #expect(computingTime() - before < .milliseconds(250)) }
                let _: Int = try other.wait.blocking(timeout: .milliseconds(500))
            }
        }
        await expectCode(.deadlineExceeded) { try await late.value }
        let callers = (0..<4).map { _ in
            Task { try await onThread { let _: Int = try directory.wait.blocking() } }
        }
        await pair.directory.started.wait(for: 4)
        pair.server.invalidate()
        for caller in callers { await expectCode(.outcomeUnknown) { try await caller.value } }
        for directory in blocked { directory.gate.signal() }
        _ = await pair.client.ended
    }

    #if canImport(Glibc)
        @Test("The same with shared memory and without a free descriptor, when the other process is killed")
        func exhaustedInSharedMemory() async {
            await #expect(processExitsWith: .success) {
                let exhausted = Signal()
                var configuration = Connection.Configuration.patient
                configuration.busy = .always
                configuration.onEvent = { if $0.code == .threadsExhausted { exhausted.send() } }
                let connection = try await Connection.launch(
                    try builtProgram("FooBarServer"), environment: TestTimeout.environment, over: .socketpair,
                    configuration: configuration)
                while !connection.isInSharedMemory { try await connection.ping() }
                let directory = try await connection.root
                let blocked = (0..<64).map { _ in BlockingObserver() }
                var calls: [CountedCall] = []
                for observer in blocked {
                    try await directory.watch(observer)
                    // The helper calls the observer, which blocks, before it answers.
                    calls.append(CountedCall { let _: Int = try await directory.add(Foo(name: "a", age: 1)) })
                    await observer.started.wait()
                }
                await exhausted.wait()
                Usage.exhaustDescriptors()

                let late = Task {
                    try await onThread {
                        let before = computingTime()
                        defer { #expect(computingTime() - before < .milliseconds(250)) }
                        let _: Int = try directory.add.blocking(Foo(name: "a", age: 1), timeout: .milliseconds(500))
                    }
                }
                await expectCode(.deadlineExceeded) { try await late.value }
                let before = connection.statistics.framesOut
                let callers = (0..<4).map { _ in
                    CountedCall {
                        try await onThread { let _: Int = try directory.add.blocking(Foo(name: "a", age: 1)) }
                    }
                }
                // On a thread, because a task that sleeps needs a descriptor for a timer.
                try await onThread { while connection.statistics.framesOut < before + 4 { usleep(1_000) } }
                Usage.allowDescriptors()
                connection.child?.kill()
                // The call is queued, but may not be written yet.
                for caller in callers { await caller.expect(oneOf: [.outcomeUnknown, .notSent]) }
                for call in calls { await call.expect(.outcomeUnknown) }
                for observer in blocked { observer.gate.signal() }
                let end = await connection.ended
                #expect(RawPeerConnection.isLost(end), "\(end)")
                #expect(connection.statistics.isAtRest)
            }
        }
    #endif

    @Test("A blocking caller gets its error while an object of the connection blocks in its deinit")
    func tearDown() async throws {
        var server = Connection.Configuration.patient
        server.limits.queuedCalls = 1
        let pair = try await Pair(server: server, over: .pipes)
        let gate = DispatchSemaphore(value: 0)
        let going = Signal()
        let other = Directory()
        pair.server.vend(other, as: "other")
        let directory = try await pair.client.root
        let proxy = try await pair.client.root(named: "other")
        let caller = Task { try await onThread { let _: Int = try directory.hold.blocking() } }
        await pair.directory.started.wait()
        let blocked = Task { try await proxy.block() }
        await other.started.wait()
        // One uses the only credit. The next waits here, with an object that nothing else holds.
        let queued = (0..<2).map { _ in
            Task { let _: Int = try await proxy.message("echo")(Stand(gate, going), timeout: nil) }
        }
        await eventually("a call waits for room") { pair.client.statistics.pending == 1 }
        pair.client.invalidate()
        await expectCode(.outcomeUnknown) { try await caller.value }
        await going.wait()
        for _ in queued { gate.signal() }
        for task in queued { _ = await task.result }
        _ = await blocked.result
        other.gate.signal()
        _ = await pair.client.ended
        _ = await pair.server.ended
    }
}

/// Blocks its thread when it is called.
private final class BlockingObserver: Vendable {
    let started = Signal()
    let gate = DispatchSemaphore(value: 0)

    static var messages: MessageTable<BlockingObserver> { Message("added", BlockingObserver.added) }

    func added(_ name: String) {
        started.send()
        gate.wait()
    }
}

/// The threads that ran user code, and how many did at the same time.
private final class ThreadLog: Sendable {
    let entries = Mutex<[(what: String, thread: UInt)]>([])
    let mostAtOnce = Mutex(0)
    let caller = Mutex<UInt>(0)
    let noted = Signal()
    let waits = Signal()
    private let now = Atomic<Int>(0)

    static var thread: UInt { UInt(bitPattern: pthread_self().hashValue) }

    func note(_ what: String) {
        let count = now.add(1, ordering: .acquiringAndReleasing).newValue
        mostAtOnce.withLock { $0 = max($0, count) }
        entries.withLock { $0.append((what, Self.thread)) }
        for _ in 0..<100 { sched_yield() }
        now.subtract(1, ordering: .acquiringAndReleasing)
        noted.send()
    }
}

private final class Witness: Vendable {
    private let log: ThreadLog

    init(_ log: ThreadLog) { self.log = log }

    deinit { log.note("deinit") }

    static var messages: MessageTable<Witness> { Message("wait", Witness.wait) }

    func wait() async {
        await withTaskCancellationHandler {
            let stopped = Signal()
            log.waits.send()
            await withTaskCancellationHandler {
                await stopped.wait()
            } onCancel: {
                stopped.send()
            }
        } onCancel: {
            log.note("cancel")
        }
    }
}

/// Is replaced by another object, which only the message holds and whose deinit blocks.
private final class Stand: Vendable {
    private let gate: DispatchSemaphore
    private let going: Signal

    init(_ gate: DispatchSemaphore, _ going: Signal) {
        self.gate = gate
        self.going = going
    }

    static var messages: MessageTable<Stand> { Message("nothing") { (_: Stand) in { () -> Void in } } }

    func replacementObject(for coder: PortCoder) throws -> PortReplacement? {
        .reference(Substitute(gate, going))
    }
}

private final class Substitute: Vendable {
    private let gate: DispatchSemaphore
    private let going: Signal

    init(_ gate: DispatchSemaphore, _ going: Signal) {
        self.gate = gate
        self.going = going
    }

    deinit {
        going.send()
        gate.wait()
    }

    static var messages: MessageTable<Substitute> { Message("nothing") { (_: Substitute) in { () -> Void in } } }
}
