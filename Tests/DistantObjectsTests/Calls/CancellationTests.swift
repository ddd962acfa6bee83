import Dispatch
import DistantObjects
import TestSupport
import Testing

@Suite("Cancellation and deadlines", .bounded())
struct CancellationTests {
    @Test("A cancelled caller throws at once, and the serving task is cancelled")
    func cancelInCancellation() async throws {
        let pair = try await Pair()
        let directory = try await pair.client.root
        let task = Task { let _: Int = try await directory.wait() }
        await pair.directory.started.wait()
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        await pair.directory.stopped.wait()
        await pair.close()
    }

    @Test("A caller cancelled before it sends sends nothing")
    func cancelledBeforeInCancellation() async throws {
        let pair = try await Pair()
        let directory = try await pair.client.root
        try await pair.awaitSharedMemory()
        let frames = pair.client.statistics.framesOut
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            let _: Int = try await directory.echo(1)
        }
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(pair.client.statistics.framesOut == frames)
        #expect(pair.client.statistics.questions == 0)
        await pair.close()
    }

    @Test("A call of a cancelled task throws at once, even while its own cancellation handlers run")
    func handlerStillRuns() async throws {
        let pair = try await Pair()
        let directory = try await pair.client.root
        let hasStarted = Signal()
        let isOver = DispatchSemaphore(value: 0)
        let task = Task {
            try await pair.client.run {
                try await withTaskCancellationHandler {
                    defer { isOver.signal() }
                    hasStarted.send()
                    while !Task.isCancelled {}
                    let _: Int = try await directory.echo(1)
                } onCancel: {
                    isOver.wait()
                }
            }
        }
        await hasStarted.wait()
        try await onThread { task.cancel() }
        await #expect(throws: CancellationError.self) { try await task.value }
        await pair.close()
    }

    @Test("A call of a cancelled task throws CancellationError, even if the call has other errors")
    func cancelledAndMore() async throws {
        let pair = try await Pair()
        let directory = try await pair.client.root
        let tooLong = directory.message(String(repeating: "x", count: 2_000))
        // In a separate task, because a cancelled test counts as skipped.
        let cancelled = Task {
            try await pair.client.run {
                withUnsafeCurrentTask { $0?.cancel() }
                await #expect(throws: CancellationError.self) { let _: Int = try await tooLong(1) }
                pair.client.invalidate()
                _ = await pair.client.ended
                await #expect(throws: CancellationError.self) { let _: Int = try await directory.echo(1) }
            }
        }
        try await cancelled.value
        await pair.close()
    }

    @Test(
        "A ping and a barrier end when their task is cancelled, and the late answer is accepted",
        arguments: [true, false])
    func controls(isPing: Bool) async throws {
        let pair = try await RawPeerConnection(.socketpair)
        let (raw, connection) = (pair.raw, pair.connection)
        let waiting = Task { isPing ? try await connection.ping() : try await connection.barrier() }
        let frame = try #require(try await onThread { raw.read() })
        #expect(frame.kind == (isPing ? 11 : 10))
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
        let early = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await connection.ping()
        }
        await #expect(throws: CancellationError.self) { try await early.value }
        raw.send(12, frame.body)
        let next = Task { try await connection.ping() }
        let second = try #require(try await onThread { raw.read() })
        raw.send(12, second.body)
        try await next.value
        raw.close()
        _ = await connection.ended
        #expect(connection.statistics.isAtRest)
    }

    @Test("Cancelling a queued ping lets the next one be sent")
    func waitingControl() async throws {
        let pair = try await RawPeerConnection(.socketpair)
        let (raw, connection) = (pair.raw, pair.connection)
        let unanswered = (0..<256).map { _ in Task { try await connection.ping() } }
        var tokens = try await onThread { (0..<256).compactMap { _ in raw.read()?.body } }
        let cancelled = Task { try await connection.ping() }
        cancelled.cancel()
        await #expect(throws: CancellationError.self) { try await cancelled.value }
        let next = Task { try await connection.ping() }
        raw.send(12, tokens.removeFirst())
        let frame = try #require(try await onThread { raw.read() })
        #expect(frame.kind == 11)
        for token in tokens + [frame.body] { raw.send(12, token) }
        for ping in unanswered + [next] { try await ping.value }
        raw.close()
        _ = await connection.ended
        #expect(connection.statistics.isAtRest)
    }

    @Test("After the deadline the caller throws and the serving task is cancelled")
    func deadlineInCancellation() async throws {
        let pair = try await Pair()
        let directory = try await pair.client.root
        await pair.callUntilDeadline(directory)
        let quick: Int = try await directory.message("echo")(3, timeout: TestTimeout.wait)
        #expect(quick == 3)
        await pair.close()
    }

    @Test("A call that waited for credit sends the time left until its deadline")
    func deadlineAfterCredit() async throws {
        let pair = try await RawPeerConnection(.socketpair, hello: RawPeer.greeting(queuedCalls: 1))
        let (raw, root) = (pair.raw, try await pair.root())
        let call = Task { try await root.message("echo")(1, timeout: .seconds(3_600)) as Int }
        await eventually("it waits") { pair.connection.statistics.pending == 1 }
        let start = ContinuousClock.now
        while ContinuousClock.now - start < .microseconds(100) {}
        raw.send(7, RawPeer.number(1))
        let frame = try #require(try await onThread { raw.read() })
        #expect(frame.kind == 2 && frame.flags == 2)
        // Behind the numbers of question, object and generation, each of one byte, and the name with its mark.
        let header = 4 + RawPeer.text("echo").count
        let left = frame.body[header...].prefix(10).enumerated().reduce(into: (value: UInt64(0), isOver: false)) {
            guard !$0.isOver else { return }
            $0.value |= UInt64($1.element & 0x7F) << UInt64(7 * $1.offset)
            $0.isOver = $1.element < 0x80
        }.value
        #expect(left <= 3_600_000_000 - 100 && left > 0)
        raw.send(3, RawPeer.result(question: 0))
        #expect(try await call.value == 5)
        raw.close()
        await pair.expectEnd(RawPeerConnection.isLost)
    }

    @Test("Calls that wait for credit can be cancelled, and are never sent")
    func cancelPending() async throws {
        let pair = try await RawPeerConnection(.socketpair, hello: RawPeer.greeting(queuedCalls: 1))
        // The look-up of the root uses up the only credit.
        let (raw, connection, root) = (pair.raw, pair.connection, try await pair.root())
        let calls = (0..<20).map { number in
            Task { try await root.message(number < 10 ? "kept" : "dropped")() as Int }
        }
        await eventually("all wait") { connection.statistics.pending == 20 }
        for call in calls[10...] { call.cancel() }
        for call in calls[10...] { await #expect(throws: CancellationError.self) { try await call.value } }
        #expect(connection.statistics.pending == 10)
        for _ in 0..<10 {
            raw.send(7, RawPeer.number(1))
            let frame = try #require(try await onThread { raw.read() })
            // Only the first one contains the name; the others have its number.
            #expect(frame.kind == 2 && !String(decoding: frame.body, as: UTF8.self).contains("dropped"))
            var body = frame.body[...]
            let question = try #require(RawPeer.takeNumber(&body))
            raw.send(3, RawPeer.result(question: question))
        }
        for call in calls[..<10] { #expect(try await call.value == 5) }
        #expect(connection.statistics.questions == 0 && connection.statistics.pending == 0)
        withExtendedLifetime(root) {}
        raw.close()
        await pair.expectEnd(RawPeerConnection.isLost)
    }

    @Test("When a call is cancelled, its method stops and its references are released", arguments: [true, false])
    func freedInCancellation(byDeadline: Bool) async throws {
        let pair = try await Pair()
        weak var carried: Observer?
        do {
            let root = try await pair.client.root
            let call = Task { [client = pair.client] () -> Observer in
                let observer = Observer()
                // This is set up again for each attempt, because on a busy machine the deadline may pass before the
                // call has started.
                var limit = Duration.milliseconds(20)
                repeat {
                    let root = try await client.root
                    do {
                        let deadline = byDeadline ? limit : nil
                        let _: DistantObject = try await root.message("holdWith")(observer, timeout: deadline)
                    } catch let error as ConnectionError where error.code == .deadlineExceeded {
                    } catch is CancellationError {
                    }
                    limit *= 2
                } while pair.directory.started.count == 0
                return observer
            }
            await pair.directory.started.wait()
            if !byDeadline { call.cancel() }
            carried = try await call.value
            await pair.directory.stopped.wait()
            withExtendedLifetime(root) {}
        }
        try await pair.rest()
        await eventually("the carried object is released") { carried == nil }
        await pair.close()
    }

    @Test(
        "When a large argument is given up, the rest is not sent, and both sides agree on that",
        arguments: [true, false])
    func abort(byDeadline: Bool) async throws {
        let pair = try await RawPeerConnection(.socketpair)
        let root = try await pair.root()
        let call = Task { () -> Void in
            let bytes = [UInt8](repeating: 1, count: 1_000_000)
            // A deadline that passes before the call is written aborts no fragments, so the next deadline is longer.
            var limit = Duration.milliseconds(20)
            repeat {
                do {
                    let _: Int = try await root.message("bytes")(bytes, timeout: byDeadline ? limit : nil)
                } catch let error as ConnectionError where error.code == .deadlineExceeded {
                } catch is CancellationError {
                }
                limit *= 2
            } while pair.connection.statistics.questions == 0
        }
        await eventually("a part is written") { pair.raw.unread > 0 }
        if !byDeadline { call.cancel() }
        try await call.value
        let raw = pair.raw
        let (payload, kinds) = try await onThread { () -> (Int, [UInt8]) in
            var kinds: [UInt8] = []
            var payload = 0
            while let frame = raw.read() {
                kinds.append(frame.kind)
                guard frame.kind == 255 else { continue }
                // A sender that gives up sends an abort, and no more fragments of the message.
                if frame.flags == 2 { break }
                payload += frame.body.count - 8
            }
            return (payload, kinds)
        }
        #expect(payload < 1_000_000)
        #expect(kinds.filter { $0 != 255 } == [2, 4] && kinds.last == 255)
        #expect(pair.connection.statistics.questions == 1)
        raw.send(3, flags: 2, RawPeer.result(question: 0))
        await eventually("the question is over") { pair.connection.statistics.questions == 0 }
        // The stream is still consistent.
        let ping = CountedCall { try await pair.connection.ping() }
        let token = try await onThread { raw.read() }
        #expect(token?.kind == 11)
        raw.send(12, token?.body ?? [])
        await ping.expect(nil)
        raw.close()
        await pair.expectEnd(RawPeerConnection.isLost)
    }

    @Test("Large arguments that are given up while they wait free their place in the queue and in the mailbox")
    func abortWithoutRoom() async throws {
        let pair = try await Pair()
        do {
            let directory = try await pair.client.root
            try await directory.block.oneWay()
            await pair.directory.started.wait()
            let bytes = [UInt8](repeating: 1, count: 5 << 20)
            // The first takes most of the window and waits for its object; there is no room for the others.
            let first = Task { let _: [UInt8] = try await directory.bytes(bytes) }
            let others = (0..<4).map { _ in Task { let _: [UInt8] = try await directory.bytes(bytes) } }
            await eventually("all are committed") { pair.client.committedCalls == 5 }
            for call in others { call.cancel() }
            for call in others { await #expect(throws: CancellationError.self) { try await call.value } }
            pair.directory.gate.signal()
            try await first.value
            for _ in 0..<3 {
                let back: [UInt8] = try await directory.bytes(bytes)
                #expect(back.count == bytes.count)
            }
        }
        try await pair.rest()
        await pair.close()
    }

    @Test("Above its limit of running calls the peer refuses calls and does not delay them")
    func overload() async throws {
        var server = Connection.Configuration.patient
        server.limits.runningCalls = 2
        let pair = try await Pair(server: server)
        let directory = try await pair.client.root
        let tasks = (0..<2).map { _ in Task { let _: Int = try await directory.wait() } }
        await pair.directory.started.wait(for: 2)
        await expectCode(.overloaded) { let _: Int = try await directory.echo(1) }
        for task in tasks { task.cancel() }
        await pair.directory.stopped.wait(for: 2)
        await pair.close()
    }
}
