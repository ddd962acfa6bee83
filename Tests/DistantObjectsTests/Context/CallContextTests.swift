import DistantObjects
import Synchronization
import TestSupport
import Testing

@Suite("What calls pass on to the calls made while they are served", .bounded())
struct CallContextTests {
    @Test("Metadata goes with calls, one-way messages and promises, and on to further processes")
    func metadata() async throws {
        let line = try await Line()
        let first = line.first
        #expect(try await first.metadata() as [String: String] == [:])
        try await CallContext.with(metadata: ["trace": "1", "user": "ada"]) {
            try await CallContext.with(metadata: ["trace": "2"]) {
                #expect(try await first.metadata() == ["trace": "2", "user": "ada"])
                #expect(try await first.synchronous() == ["trace": "2", "user": "ada"])
                // Through the second process, and in a task of its own.
                #expect(try await first.further() == ["trace": "2", "user": "ada"])
                #expect(try await first.inTask() == ["trace": "2", "user": "ada"])
                try await first.note.oneWay()
                #expect(try first.note.offer())
                #expect(try await first.itself.promise().metadata() == ["trace": "2", "user": "ada"])
            }
            #expect(CallContext.current.metadata == ["trace": "1", "user": "ada"])
        }
        let blocked: [String: String] = try await onThread {
            try CallContext.with(metadata: ["thread": "yes"]) { try first.metadata.blocking() }
        }
        #expect(blocked == ["thread": "yes"])
        #expect(CallContext.current.metadata.isEmpty)
        await line.stations[0].noted.wait(for: 2)
        let noted = line.stations[0].notes.withLock { $0 }
        #expect(noted == [["trace": "2", "user": "ada"], ["trace": "2", "user": "ada"]])
        await line.close()
    }

    @Test("A deadline is the deadline of the calls made while the call is served, unless theirs is earlier")
    func deadlineInCallContext() async throws {
        let line = try await Line()
        #expect(try await line.first.timeLeft() as Int? == nil)
        let left: Int? = try await line.first.timeLeft(timeout: .seconds(1_000))
        #expect((1...1_000).contains(left ?? 0))
        let further: Int? = try await line.first.furtherTimeLeft(timeout: .seconds(1_000))
        #expect((1...1_000).contains(further ?? 0))
        let promised: Int? = try await line.first.furtherByPromise(timeout: .seconds(1_000))
        #expect((1...1_000).contains(promised ?? 0))
        // The second process stops, too.
        await expectCode(.deadlineExceeded) {
            let _: Int = try await line.first.waitFurther(timeout: .milliseconds(50))
        }
        // On a busy machine the deadline may pass before the second process has the call.
        if line.stations[1].started.count > 0 { await line.stations[1].stopped.wait() }
        await line.close()
    }

    @Test("A method whose own call fails by the deadline of both is refused for that deadline")
    func nestedFailure() async throws {
        let (raw, ours) = try RawPeerConnection.ends(.socketpair)
        raw.send(1, RawPeer.hello)
        let far = try await Pair()
        far.server.vend(Station(next: nil), as: "station")
        let connection = try await RawPeerConnection.adopt(ours, isInitiator: true, .patient)
        connection.vend(Station(next: try await far.client.root(named: "station")))
        let frames = try await onThread { () -> [RawPeer.Frame] in
            _ = raw.read()
            raw.send(2, RawPeer.call(body: [0, 1, 0x80]))
            let root = raw.read()
            // Its caller does not watch the time, so what the method throws is not hidden by the caller's own error.
            let call = [0, 1, 0, 0] + RawPeer.text("waitFurther") + RawPeer.number(20_000) + [0, 0, 0, 0, 0]
            raw.send(2, flags: 2, call)
            return [root, raw.read()].compactMap { $0 }
        }
        #expect(frames.map(\.kind) == [3, 3] && frames.map(\.flags) == [0, 2])
        // Question, references, shapes, objects and length; then the code of a passed deadline.
        var body = (frames.last?.body ?? [])[...]
        for _ in 0..<5 { _ = RawPeer.takeNumber(&body) }
        #expect(body.first == 8)
        raw.close()
        _ = await connection.ended
        await far.client.close()
    }

    @Test("Metadata that is too long is refused before anything is sent")
    func tooLongInCallContext() async throws {
        await expectCode(.tooLarge) {
            try CallContext.with(metadata: ["x": String(repeating: "x", count: 4_093)]) {}
        }
        let line = try await Line()
        // Keys and values together, and a byte or two for the length of each.
        try await CallContext.with(metadata: ["x": String(repeating: "x", count: 4_092)]) {
            let all: [String: String] = try await line.first.metadata()
            #expect(all["x"]?.count == 4_092)
        }
        try await CallContext.with(metadata: ["x": String(repeating: "x", count: 4_000)]) {
            let all: [String: String] = try await line.first.metadata()
            #expect(all["x"]?.count == 4_000)
            // Nearly as large as a frame.
            let count: Int = try await line.first.count([UInt8](repeating: 1, count: 57_300))
            #expect(count == 57_300)
        }
        await line.close()
    }

    @Test("A peer of a version without metadata gets none, and answers")
    func olderPeerInCallContext() async throws {
        let (raw, ours) = try RawPeerConnection.ends(.socketpair)
        raw.send(1, RawPeer.greeting(features: 4))
        let opening = Task { try await RawPeerConnection.adopt(ours, isInitiator: true, .patient) }
        let hello = try await onThread { raw.read() }
        #expect(hello?.kind == 1)
        let connection = try await opening.value
        let call = Task {
            try await CallContext.with(metadata: ["trace": "1"]) { try await connection.root }
        }
        let frame = try await onThread { raw.read() }
        #expect(frame?.kind == 2 && frame.map { $0.flags & 32 } == 0)
        raw.close()
        _ = await call.result
        _ = await connection.ended
    }
}

/// Two connections in a row: what is called at the first calls the second.
private struct Line {
    let pairs: [Pair]
    let stations: [Station]
    let first: DistantObject

    init() async throws {
        let (near, far) = (try await Pair(), try await Pair())
        let last = Station(next: nil)
        far.server.vend(last, as: "station")
        let station = Station(next: try await far.client.root(named: "station"))
        near.server.vend(station, as: "station")
        (pairs, stations) = ([near, far], [station, last])
        first = try await near.client.root(named: "station")
    }

    func close() async { for pair in pairs { await pair.client.close() } }
}

private final class Station: Vendable {
    let notes = Mutex<[[String: String]]>([])
    let noted = Signal()
    let started = Signal()
    let stopped = Signal()
    let next: DistantObject?

    init(next: DistantObject?) { self.next = next }

    static var messages: MessageTable<Station> {
        Message("metadata") { (_: Station) in { () async -> [String: String] in CallContext.current.metadata } }
        Message("synchronous") { (_: Station) in { () -> [String: String] in CallContext.current.metadata } }
        Message("further", Station.further)
        Message("inTask", Station.inTask)
        Message("note", Station.note)
        Message("itself") { (station: Station) in { () -> Station in station } }
        Message("timeLeft") { (_: Station) in { () async -> Int? in secondsLeft() } }
        Message("furtherTimeLeft", Station.furtherTimeLeft)
        Message("furtherByPromise") { (station: Station) in
            { () async throws -> Int? in try await station.next?.itself.promise().timeLeft() ?? nil }
        }
        Message("wait", Station.wait)
        Message("waitFurther", Station.waitFurther)
        Message("count") { (_: Station) in { (bytes: [UInt8]) -> Int in bytes.count } }
    }

    func further() async throws -> [String: String] { try await next?.metadata() ?? [:] }
    func inTask() async throws -> [String: String] { try await Task { try await self.further() }.value }
    func furtherTimeLeft() async throws -> Int? { try await next?.timeLeft() ?? nil }
    func waitFurther() async throws -> Int { try await next?.wait() ?? 0 }

    func note() {
        notes.withLock { $0.append(CallContext.current.metadata) }
        noted.send()
    }

    func wait() async throws -> Int {
        started.send()
        do {
            try await Task.sleep(for: .seconds(3_600))
            return 0
        } catch {
            stopped.send()
            throw error
        }
    }
}

private func secondsLeft() -> Int? { CallContext.current.timeLeft.map { Int($0.components.seconds) + 1 } }
