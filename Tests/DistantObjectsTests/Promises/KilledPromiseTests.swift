import DistantObjects
import Synchronization
import TestSupport
import Testing

/// Kills one side of a promised call at each of its steps.
///
/// `DISTANT_KILLS=n swift test --filter KilledPromise` sets the number of kills. They run in a separate process, because
/// they count its resources.
@Suite("Killing a side of a promised call", .serialized, .bounded())
struct KilledPromiseTests {
    @Test("Each operation ends once, says what is known of it, and nothing is left")
    func killInKilledPromise() async {
        await #expect(processExitsWith: .success) {
            try await KilledProcess.killAtEachStep(
                KilledPromise.steps.map { step in
                    { way in
                        let hall = try await KilledPromise.kill(at: step, over: way)
                        await eventually("the object is let go") { hall() == nil }
                    }
                })
        }
    }
}

/// A process that is killed, and this side's object.
private final class KilledPromise: Sendable {
    private let process: KilledProcess
    private let own = Hall("own")
    private let root: DistantObject

    private var connection: Connection { process.connection }

    /// The steps of a call that this side promises, then those of one that the other side does.
    static let steps: [@Sendable (KilledPromise) async throws -> Void] = [
        { try await $0.sent() }, { try await $0.running() }, { try await $0.waiting() }, { try await $0.argument() },
        { try await $0.resolved() }, { try await $0.passedOn() }, { try await $0.answeringSent() },
        { try await $0.answeringRunning("running") }, { try await $0.answeringRunning("waiting") },
        { try await $0.answeringRunning("argument") }, { try await $0.answeringResolved() },
        { try await $0.answeringPassedOn() },
    ]

    /// - Returns: This side's object, as long as it lives.
    static func kill(
        at step: @Sendable (KilledPromise) async throws -> Void, over way: KilledProcess.Way
    ) async throws -> () -> Hall? {
        let victim = try await KilledPromise(over: way)
        try await step(victim)
        await victim.process.expectEnd()
        return { [weak own = victim.own] in own }
    }

    private init(over way: KilledProcess.Way) async throws {
        process = try await KilledProcess("killed-peer", over: way)
        root = try await process.connection.root
    }

    private func kill() async {
        process.kill()
        _ = await connection.ended
    }

    /// Waits until all these are written and the other side has entered them.
    private func arrived(questions: Int) async throws {
        await eventually("all are sent") { self.connection.committedCalls >= questions }
        try await connection.ping()
    }

    // MARK: This side promises

    private func sent() async throws {
        await connection.child?.stop()
        let promise = root.room.promise()
        let calls = [
            CountedCall { let _: Int = try await promise.note(1) }, CountedCall { _ = try await promise.resolved() },
        ]
        #expect(try promise.note.offer(2))
        await eventually("all are committed") { self.connection.committedCalls == 3 }
        await kill()
        // The call is queued, but may not be written yet.
        for call in calls { await call.expect(oneOf: [.outcomeUnknown, .notSent]) }
        await expectCode(.closed) { let _: String = try await promise.name() }
    }

    private func running() async throws {
        let promise = root.wait.promise(own)
        await own.noted.wait()
        await kill()
        await expectCode(.closed) { _ = try await promise.resolved() }
    }

    private func waiting() async throws {
        let promise = root.wait.promise(own)
        let next = promise.room.promise()
        let calls = [
            CountedCall { let _: Int = try await promise.note(1) }, CountedCall { _ = try await next.resolved() },
            CountedCall { _ = try await onThread { try promise.blockingResolved() } },
        ]
        await own.noted.wait()
        try await arrived(questions: 5)
        await kill()
        for call in calls { await call.expect(.outcomeUnknown) }
        await expectCode(.closed) { let _: String = try await next.name() }
    }

    private func argument() async throws {
        let promise = root.wait.promise(own)
        let first = CountedCall { [root] in let _: Int = try await root.meet(promise) }
        await eventually("it is sent") { self.connection.committedCalls == 2 }
        // It is for the same object, and so waits with the first.
        let second = CountedCall { [root] in let _: String = try await root.name() }
        await own.noted.wait()
        try await arrived(questions: 3)
        await kill()
        for call in [first, second] { await call.expect(.outcomeUnknown) }
    }

    private func resolved() async throws {
        let promise = root.room.promise()
        #expect(try await promise.name() == "room")
        await kill()
        await expectCode(.closed) { let _: String = try await promise.name() }
    }

    private func passedOn() async throws {
        let promise = root.back.promise(own)
        let call = CountedCall { let _: DistantObject = try await promise.wait() }
        await own.started.wait()
        await kill()
        await call.expect(.outcomeUnknown)
        await own.stopped.wait()
    }

    // MARK: The other side promises

    private func answeringSent() async throws {
        try await root.play("sent", own)
        await kill()
    }

    private func answeringRunning(_ step: String) async throws {
        try await root.play(step, own)
        await own.started.wait()
        await kill()
        await own.stopped.wait()
        // None of the messages that waited has run.
        if step == "waiting" { #expect(own.notes.withLock { $0 } == []) }
    }

    private func answeringResolved() async throws {
        try await root.play("resolved", own)
        #expect(connection.statistics.answers == 1)
        await kill()
    }

    private func answeringPassedOn() async throws {
        try await root.play("passed on", own)
        await own.noted.wait()
        await kill()
    }
}
