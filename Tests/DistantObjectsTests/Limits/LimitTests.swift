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

/// Each side keeps the limits of the other, and a hostile peer that does not is cut off.
@Suite("Limits", .serialized, .bounded())
struct LimitTests {
    /// A hostile peer's connection with small limits, which vends a `Directory` in slot 1.
    private static func hostile(_ limits: Connection.Limits) async throws -> (RawPeer, Connection, Directory) {
        let (raw, ours) = try RawPeerConnection.ends(.socketpair)
        var configuration = Connection.Configuration.patient
        configuration.limits = limits
        raw.send(1, RawPeer.hello)
        let connection = try await RawPeerConnection.adopt(ours, isInitiator: false, configuration)
        let directory = Directory()
        connection.vend(directory)
        raw.send(2, RawPeer.call(body: [0, 1, 0x80]))
        let frames = try await onThread { [raw.read(), raw.read()] }
        #expect(frames.map(\.?.kind) == [1, 3])
        return (raw, connection, directory)
    }

    /// Waits for the Goodbye with that reason, and for the connection's end.
    private static func expectGoodbye(
        _ reason: UInt8, _ raw: RawPeer, _ connection: Connection, location: SourceLocation = #_sourceLocation
    ) async throws {
        let frames = try await onThread { raw.readToEnd() }
        let goodbye = try #require(frames.last { $0.kind == 16 }, sourceLocation: location)
        let reasons = [goodbye.body.dropFirst(1).first, goodbye.body.dropFirst(2).first]
        #expect(reasons.contains(reason), "\(goodbye.body)", sourceLocation: location)
        guard case .protocolViolation = await connection.ended else {
            Issue.record("the end was no violation", sourceLocation: location)
            return
        }
        #expect(connection.statistics.isAtRest, sourceLocation: location)
    }

    @Test("A message or result larger than the peer accepts is refused before it is sent")
    func messageBytes() async throws {
        var server = Connection.Configuration.patient
        server.limits.message = 100_000
        let pair = try await Pair(server: server)
        let directory = try await pair.client.root
        try await pair.awaitSharedMemory()
        let frames = pair.client.statistics.framesOut
        await expectCode(.tooLarge) {
            let _: [UInt8] = try await directory.bytes([UInt8](repeating: 1, count: 200_000))
        }
        #expect(pair.client.statistics.framesOut == frames)
        let back: [UInt8] = try await directory.bytes([UInt8](repeating: 1, count: 90_000))
        #expect(back.count == 90_000)
        // In the other direction, the server's calls are not limited by what it accepts itself.
        try await directory.watch(Observer())
        await pair.close()

        var client = Connection.Configuration.patient
        client.limits.message = 100_000
        let other = try await Pair(client: client)
        do {
            let _: [UInt8] = try await other.client.root.made(200_000)
            Issue.record("nothing was thrown")
        } catch let error as ConnectionError {
            #expect(error.code == .tooLarge)
            #expect(error.message.contains("at most 100000"), "\(error)")
        }
        let small: [UInt8] = try await other.client.root.made(90_000)
        #expect(small.count == 90_000)
        await other.close()
    }

    @Test("A limit of messages above that of archives is lowered, and the peer is told the lower one")
    func messageOverArchive() async throws {
        var server = Connection.Configuration.patient
        server.limits.message = 1 << 30
        server.limits.archive.bytes = 100_000
        let pair = try await Pair(server: server)
        let directory = try await pair.client.root
        let error = await #expect(throws: ConnectionError.self) {
            let _: [UInt8] = try await directory.bytes([UInt8](repeating: 1, count: 200_000))
        }
        #expect(error?.code == .tooLarge)
        #expect(error?.message.contains("at most 100000") == true, "\(String(describing: error))")
        await pair.close()
    }

    @Test(
        "A peer that sends a message larger than granted is cut off before memory is allocated",
        arguments: [false, true])
    func messageBytesHostile(inFragments: Bool) async throws {
        var limits = Connection.Limits()
        limits.message = inFragments ? 100_000 : 1_024
        let (raw, connection, _) = try await Self.hostile(limits)
        let call = RawPeer.call(slot: 1, name: [0] + RawPeer.text("bytes"))
        if inFragments {
            raw.send(2, flags: 0x80, [0x40, 0x0D, 3, 0, 0, 0, 0, 0] + call)
            _ = try await onThread { raw.readToEnd() }
            guard case .protocolViolation = await connection.ended else {
                Issue.record("the end was no violation")
                return
            }
        } else {
            raw.send(2, call + [UInt8](repeating: 0, count: 70_000))
            try await Self.expectGoodbye(6, raw, connection)
        }
    }

    @Test("An argument that exceeds an archive limit is refused, and the connection goes on")
    func archive() async throws {
        var server = Connection.Configuration.patient
        server.limits.archive.objects = 10
        server.limits.archive.string = 1_000
        let pair = try await Pair(server: server)
        let directory = try await pair.client.root
        let foos = (0..<20).map { Foo(name: "\($0)", age: 1) }
        await expectCode(.wrongArgument) { let _: Bar = try await directory.bar(Bar(foos)) }
        await expectCode(.wrongArgument) {
            let _: Int = try await directory.add(Foo(name: String(repeating: "x", count: 2_000), age: 1))
        }
        let small: Bar = try await directory.bar(Bar(Array(foos[..<5])))
        #expect(small.foos.count == 5)
        await pair.close()
    }

    @Test("A peer that sends more calls than granted loses its connection")
    func queuedCalls() async throws {
        var limits = Connection.Limits()
        limits.queuedCalls = 4
        let (raw, connection, directory) = try await Self.hostile(limits)
        // In one write, so that no call is answered before all have come.
        raw.send(
            (0..<8 as Range<UInt64>).flatMap { question in
                RawPeer.frame(
                    2,
                    RawPeer.call(
                        question: question, slot: 1, name: [1] + RawPeer.text("block"), arguments: 0, body: [0, 0]))
            })
        raw.finishSending()
        await directory.started.wait()
        for _ in 0..<8 { directory.gate.signal() }
        try await Self.expectGoodbye(6, raw, connection)
    }

    @Test("A peer at its limit of references gets no further object until it releases one")
    func exports() async throws {
        var server = Connection.Configuration.patient
        // The root directory and the root use two of the places.
        server.limits.exports = 5
        let pair = try await Pair(server: server)
        do {
            let directory = try await pair.client.root
            var held: [DistantObject] = []
            for _ in 0..<3 { held.append(try await directory.fresh()) }
            let error = await #expect(throws: ConnectionError.self) {
                let _: DistantObject = try await directory.fresh()
            }
            // The method has run.
            #expect(error?.code == .overloaded && error?.isSafeToRetry == false)
            // An object that it already has uses no further place.
            let again = try await pair.client.root
            #expect(again === directory)
            held.removeLast()
            await eventually("it is released") { pair.server.statistics.exports == 3 }
            held.append(try await directory.fresh())
            #expect(held.count == 3)
        }
        try await pair.rest()
        await pair.close()
    }

    @Test("Names beyond the number that is interned are sent in full each time")
    func namesInLimit() async throws {
        let pair = try await Pair()
        let directory = try await pair.client.root
        for number in 0..<4_200 {
            let message = directory.message("nothing\(number)")
            do {
                try await message.oneWay()
            } catch let error as ConnectionError where error.code == .oneWayLost {
                // This reports the earlier messages, which the peer does not answer. It was not sent itself.
                while (try? message.offer()) != true { await Task.yield() }
            }
        }
        let back: Int = try await directory.echo(1)
        #expect(back == 1)
        await expectCode(.noSuchMessage) { try await directory.message("nothing4199")() }
        await pair.close()
    }

    @Test("Barriers and pings above the limit wait until earlier ones are answered")
    func barriers() async throws {
        let pair = try await Pair()
        let client = pair.client
        try await client.root.block.oneWay()
        await pair.directory.started.wait()
        let waiting = (0..<600).map { number in
            CountedCall { if number % 2 == 0 { try await client.barrier() } else { try await client.ping() } }
        }
        await eventually("as many are sent as may be") { client.statistics.framesOut >= 256 }
        pair.directory.gate.signal()
        for control in waiting { await control.expect(nil) }
        await pair.close()
    }

    @Test("A peer that does not read its answers is cut off before they fill this side's memory")
    func unreadInLimit() async {
        await #expect(processExitsWith: .success) {
            let pings = (0..<1_000).flatMap { RawPeer.frame(11, RawPeer.number($0)) }
            let calls = (0..<500).flatMap { question in
                RawPeer.frame(
                    2,
                    RawPeer.call(
                        question: question, slot: 1, name: [1] + RawPeer.text("made"),
                        body: [0, 4, 0xC3, 0xA0, 0x9C, 0x01]))
            }
            for flood in [pings, calls] {
                var limits = Connection.Limits()
                limits.queuedCalls = 500
                let (raw, connection, _) = try await LimitTests.hostile(limits)
                let before = PeakMemory.resident
                let sender = Task {
                    // The peer never reads. Sending fails once the connection is cut.
                    try await onThread { for _ in 0..<200 where raw.canSend { raw.send(flood) } }
                }
                guard case .protocolViolation = await connection.ended else {
                    Issue.record("the end was no violation")
                    return
                }
                #expect(
                    PeakMemory.resident - before < 100 << 20,
                    "\((PeakMemory.resident - before) >> 20) MiB more are used")
                try await sender.value
                raw.close()
            }
        }
    }

    @Test("A peer that reads late gets its credit late, and loses nothing")
    func lateInLimit() async throws {
        var limits = Connection.Limits()
        limits.queuedCalls = 400
        let (raw, connection, _) = try await Self.hostile(limits)
        // Results of 60,000 bytes: more than waits for the peer before credit is kept back.
        let body: [UInt8] = [0, 4, 0xC3, 0xC0, 0xA9, 0x07]
        let call: @Sendable (UInt64) -> [UInt8] = { question in
            RawPeer.frame(2, RawPeer.call(question: question, slot: 1, name: [1] + RawPeer.text("made"), body: body))
        }
        let (answers, credit) = try await onThread { () -> (Int, Int) in
            for question: UInt64 in 0..<399 { raw.send(call(question)) }
            var (answers, credit) = (0, 1)
            while answers < 399 || credit < 200, let frame = raw.read() {
                if frame.kind == 3 { answers += 1 }
                if frame.kind == 7 {
                    credit += Int(frame.body[0] & 0x7F) | Int(frame.body.count > 1 ? frame.body[1] : 0) << 7
                }
            }
            return (answers, credit)
        }
        // Up to half of the granted credit is collected before it is returned.
        #expect(answers == 399 && credit >= 200)
        raw.close()
        guard case .lost = await connection.ended else {
            Issue.record("the peer was cut")
            return
        }
    }
}
