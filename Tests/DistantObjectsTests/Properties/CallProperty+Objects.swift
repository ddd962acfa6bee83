import Dispatch
import DistantObjects
import Synchronization
import TestSupport
import Testing

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

enum ProcessIdentifier {
    static var current: Int32 { getpid() }
}

// MARK: Streams

extension CallProperty {
    static func streams(_ path: CallPath) async throws {
        let ends = try await path.ends()
        let counted = try await ends.remote.count(1_000)
        var numbers: [Int] = []
        for try await number in counted { numbers.append(number) }
        #expect(numbers == Array(0..<1_000))
        #expect(try await counted.final == 1_000)
        #expect(try await ends.remote.sum(DistantStream(0..<100)) == 4_950)
        await expectCode(.streamUsed) { for try await _ in counted {} }
    }

    static func streamErrors(_ path: CallPath) async throws {
        let ends = try await path.ends()
        var numbers: [Int] = []
        await #expect(throws: NotFound(name: "the rest")) {
            for try await number in try await ends.remote.lose(3) { numbers.append(number) }
        }
        #expect(numbers == [0, 1, 2])
    }

    static func stoppedStreams(_ path: CallPath) async throws {
        let ends = try await path.ends()
        for try await number in try await ends.remote.count(.max) where number == 10 { break }
        await ends.office.stopped.wait()
    }

    static func blockingStreams(_ path: CallPath) async throws {
        let ends = try await path.ends()
        let (sum, numbers) = try await onThread {
            let sum = try ends.remote.sum.blocking(
                DistantStream.onThread { for number in 0..<10 { try $0.blockingSend(number) } })
            var iterator = try ends.remote.count.blocking(100).makeBlockingIterator()
            var numbers: [Int] = []
            while let number = try iterator.next() { numbers.append(number) }
            return (sum, numbers)
        }
        #expect(sum == 45 && numbers == Array(0..<100))
    }

    // MARK: Promises and references

    static func promises(_ path: CallPath) async throws {
        let ends = try await path.ends()
        let note = ends.remote.later.promise(1)
        let text = Task { try await note.text() }
        await ends.office.started.wait()
        try await note.write.oneWay("2")
        ends.office.go.send()
        #expect(["1", "2"].contains(try await text.value))
        #expect(try await note.text() == "2")
        let resolved = try await note.resolved()
        #expect(try await resolved.text() == "2")
        try await ends.remote.tell(note, "3")
        #expect(try await resolved.text() == "3")
    }

    static func failedPromises(_ path: CallPath) async throws {
        let ends = try await path.ends()
        let missing = ends.remote.object.fail.promise(0)
        await #expect(throws: NotFound(name: "it")) { let _: String = try await missing.text() }
        let number = ends.remote.object.echo.promise(1)
        await expectCode(.noObject) { _ = try await number.resolved() }
    }

    static func references(_ path: CallPath) async throws {
        let ends = try await path.ends()
        let note = try await ends.remote.note("a")
        try await note.write("b")
        #expect(try await note.text() == "b")
        // The object lives on the other side, and comes home there.
        #expect(note.local(as: Note.self) == nil && ends.remote.local(as: Office.self) == nil)
        #expect(try await ends.remote.same(note) == note)
    }

    static func callbacks(_ path: CallPath) async throws {
        let ends = try await path.ends()
        let note = Note()
        let remote = Remote<NoteInterface>(vending: note)
        try await ends.remote.tell(remote, "called back")
        #expect(note.text() == "called back")
        let home = try await ends.remote.same(remote)
        #expect(home.local(as: Note.self) === note)
    }

    static func foreignReferences(_ path: CallPath) async throws {
        let ends = try await path.ends()
        let other = try await path.ends()
        let note = try await other.remote.note("foreign")
        await expectCode(.foreignReference) { try await ends.remote.tell(note, "x") }
    }

    // MARK: Order, threads

    static func order(_ path: CallPath) async throws {
        let ends = try await path.ends()
        for number in 0..<300 { try await ends.remote.log.oneWay(number) }
        #expect(try await ends.remote.logged() == Array(0..<300))
    }

    static func objectsApart(_ path: CallPath) async throws {
        let ends = try await path.ends()
        let note = try await ends.remote.note("free")
        let blocked = Task { try await ends.remote.block() }
        await ends.office.started.wait()
        // A method that blocks holds up its own object only.
        #expect(try await note.text() == "free")
        ends.office.gate.signal()
        try await blocked.value
    }

    static func blocking(_ path: CallPath) async throws {
        let ends = try await path.ends()
        let back = try await onThread {
            for number in 0..<10 { try ends.remote.log.blockingOneWay(number) }
            let note = try ends.remote.note.blocking("a")
            try note.write.blocking("b")
            return (try ends.remote.logged.blocking(), try note.text.blocking())
        }
        #expect(back.0 == Array(0..<10) && back.1 == "b")
        await expectCode(.deadlineExceeded) {
            try await onThread { _ = try ends.remote.hold.blocking(timeout: .milliseconds(20)) }
        }
    }

    static func blockingInTasks(_ path: CallPath) async throws {
        let ends = try await path.ends()
        await expectCode(.wouldBlock) { _ = try ends.remote.echo.blocking(1) }
        await expectCode(.wouldBlock) { try ends.remote.log.blockingOneWay(1) }
    }

    static func sharedBytes(_ path: CallPath) async throws {
        let ends = try await path.ends()
        for count in [0, 10, 1 << 20, 1 << 20] {
            let bytes = try await ends.remote.shared(count)
            #expect(bytes.count == count && bytes.withUnsafeBytes { $0.allSatisfy { $0 == 3 } })
        }
    }

    static func progress(_ path: CallPath) async throws {
        let ends = try await path.ends()
        let reports = Mutex<[Int64]>([])
        let reported = Signal()
        let receiver = ProgressReceiver { progress in
            reports.withLock { $0.append(progress.completed) }
            reported.send()
        }
        #expect(try await ends.remote.work(ProgressReporter(to: receiver)) == 3)
        await reported.wait(for: 3)
        #expect(reports.withLock { $0 } == [1, 2, 3])
    }

    static func tailCalls(_ path: CallPath) async throws {
        let ends = try await path.ends()
        #expect(try await ends.remote.passOn(ends.remote) == 5)
        let own = Office()
        #expect(try await ends.remote.passOn(Remote(vending: own)) == 5)
    }

    // MARK: The end

    static func lostObject(_ path: CallPath) async throws {
        let ends = try await path.ends()
        let call = Task { try await ends.remote.hold() }
        await ends.office.started.wait()
        try ends.connection.invalidate()
        await expectCode(.outcomeUnknown) { _ = try await call.value }
        await ends.office.stopped.wait()
        await expectCode(.closed) { _ = try await ends.remote.echo(1) }
    }

    static func onEnd(_ path: CallPath) async throws {
        let ends = try await path.ends()
        let ended = Signal()
        ends.remote.onEnd { _ in ended.send() }
        try await ends.connection.close()
        await ended.wait()
    }

    static func release(_ path: CallPath) async throws {
        weak var office: Office?
        weak var note: Note?
        weak var connection: Connection?
        do {
            let ends = try await path.ends()
            let own = Note()
            (office, note, connection) = (ends.office, own, try ends.connection)
            try await ends.remote.tell(Remote(vending: own), "x")
            #expect(try await ends.remote.note("y").text() == "y")
            // A connection that its user has opened is closed by its user, and vends the object until then.
            if path != .local { try await ends.connection.close() }
        }
        await eventually("nothing is left") { office == nil && note == nil && connection == nil }
    }
}
