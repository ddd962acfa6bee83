import DistantObjects
import Synchronization
import TestSupport
import Testing

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Messages that are refused one by one, while the connection goes on and both sides' tables stay equal.
@Suite("Refused messages", .serialized, .bounded())
struct RefusedMessageTests {
    /// The connection of a hostile peer, which vends a `Directory` in slot 1.
    private static func hostile(
        _ limits: Connection.Limits = .init()
    ) async throws -> (RawPeer, Connection, Directory) {
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

    /// Calls `echo` with 5, and returns the status of the answer.
    private static func echo(
        _ raw: RawPeer, references: [UInt8] = [0], shapes: [UInt8] = [0]
    ) async throws -> UInt8? {
        raw.send(
            2,
            RawPeer.call(
                slot: 1, name: [1] + RawPeer.text("echo"), references: references, shapes: shapes, body: [0, 1, 5]))
        return try await onThread {
            while let frame = raw.read() { if frame.kind == 3 { return frame.flags } }
            return nil
        }
    }

    @Test("An unreadable shape takes its number, and messages that use it are refused")
    func shapesInRefusedMessage() async throws {
        let (raw, connection, _) = try await Self.hostile()
        // A class without keys, as an archive defines it.
        let good: [UInt8] = [7, 1, 0x83, 0x46, 0x6F, 0x6F, 0, 0]
        #expect(try await Self.echo(raw, shapes: [1, 0, 3, 0xFF, 0xFF, 0xFF]) == 2)
        #expect(try await Self.echo(raw, shapes: [1, 2]) == 2)
        // The next one gets number 1.
        #expect(try await Self.echo(raw, shapes: [1, 0] + good) == 0)
        #expect(try await Self.echo(raw, shapes: [1, 3]) == 0)
        #expect(try await Self.echo(raw, shapes: [2, 3, 2]) == 2)
        // A shape with too many keys is unreadable, too. It is not interned.
        let keys = (0..<1_100).flatMap { [0x80 | UInt8("k\($0)".utf8.count)] + Array("k\($0)".utf8) }
        let large = [1, 0x83, 0x46, 0x6F, 0x6F, 0] + RawPeer.number(1_100) + keys
        #expect(try await Self.echo(raw, shapes: [1, 1] + RawPeer.number(UInt64(large.count)) + large) == 2)
        #expect(try await Self.echo(raw, shapes: [1, 3]) == 0)
        #expect(try await Self.echo(raw, shapes: [1, 4]) == nil)
        guard case .protocolViolation = await connection.ended else {
            Issue.record("a number never given was taken")
            return
        }
    }

    @Test("References above the limit are entered and released at once, and later ones are correct")
    func referencesInRefusedMessage() async throws {
        var limits = Connection.Limits()
        limits.references = 3
        let (raw, connection, directory) = try await Self.hostile(limits)
        #expect(try await Self.echo(raw, references: [3, 1, 7, 0, 1, 8, 0, 1, 9, 0]) == 0)
        await eventually("they are released") { connection.statistics.imports == 0 }
        #expect(try await Self.echo(raw, references: [4, 1, 7, 1, 1, 8, 1, 1, 9, 1, 1, 10, 0]) == 2)
        await eventually("they are released") { connection.statistics.imports == 0 }
        // The object with the slot's next generation is a different one, which is held.
        raw.send(
            2,
            RawPeer.call(
                slot: 1, name: [1] + RawPeer.text("keep"), references: [1, 1, 10, 1], body: [0, 2, 0xD7, 0]))
        await eventually("it is held") { directory.observer.withLock { $0 != nil } }
        #expect(connection.statistics.imports == 1)
        raw.close()
        guard case .lost = await connection.ended else {
            Issue.record("the peer was cut")
            return
        }
    }

    @Test("The root directory may be sent as a reference")
    func rootDirectoryInRefusedMessage() async throws {
        let (raw, connection, _) = try await Self.hostile()
        #expect(try await Self.echo(raw, references: [1, 1, 0, 0]) == 0)
        #expect(connection.statistics.imports == 0)
        raw.close()
        _ = await connection.ended
    }

    @Test("A Drop that comes before its Return frees the question")
    func dropInRefusedMessage() async throws {
        let (raw, connection, directory) = try await Self.hostile()
        let call: [UInt8] = RawPeer.call(slot: 1, name: [1] + RawPeer.text("hold"), arguments: 0, body: [0, 0])
        raw.send(2, flags: 4, call)
        await directory.started.wait()
        raw.send(5, [0])
        raw.send(11, [1])
        let pong = try await onThread { raw.read()?.kind }
        #expect(pong == 12)
        directory.go.send()
        let answer = try await onThread { raw.read()?.kind }
        #expect(answer == 3)
        #expect(try await Self.echo(raw) == 0)
        raw.close()
        guard case .lost = await connection.ended else {
            Issue.record("the peer was cut")
            return
        }
    }

    @Test(
        "An answer whose value is not used is still checked",
        arguments: [([0, 0], true), ([], true), ([0, 1, 5], true), ([0, 0, 1, 2, 3], false), ([0xFF], false)])
    func rubbish(body: [UInt8], isGood: Bool) async throws {
        let bereaved = try await RawPeerConnection(.socketpair)
        let root = try await bereaved.root()
        async let call: Void = root.note("x")
        let raw = bereaved.raw
        let question = try await onThread { raw.read()?.body.first }
        raw.send(3, [try #require(question), 0, 0] + body)
        do {
            try await call
            #expect(isGood)
        } catch let error as ConnectionError {
            #expect(!isGood && error.code == .wrongResult, "\(error)")
        }
        raw.close()
        _ = await bereaved.connection.ended
    }

    #if os(Linux)
        @Test(
            "A peer that announces more than the free memory loses its connection, and the process goes on",
            .disabled(if: Sanitizer.isActive, "sanitizers need more memory than that"))
        func memoryInRefusedMessage() async {
            await #expect(processExitsWith: .success) {
                let (raw, connection, _) = try await RefusedMessageTests.hostile()
                let good = try await Pair()
                let root = try await good.client.root
                // The process may map a little more memory than it has now.
                var limit = rlimit()
                getrlimit(__rlimit_resource_t(RLIMIT_AS.rawValue), &limit)
                limit.rlim_cur = rlim_t(Usage.addressSpace + (128 << 20))
                #expect(setrlimit(__rlimit_resource_t(RLIMIT_AS.rawValue), &limit) == 0)
                raw.send(2, flags: 0x80, [0, 0, 0, 15, 0, 0, 0, 0] + RawPeer.call())
                raw.send(255, [3, 0, 0, 0, 0, 0, 0, 0, 1])
                let frames = try await onThread { raw.readToEnd() }
                #expect(frames.last?.kind == 16 && frames.last?.body.dropFirst().first == 6)
                guard case .failed = await connection.ended else {
                    Issue.record("the connection did not fail")
                    return
                }
                let back: Int = try await root.echo(3)
                #expect(back == 3)
                await good.close()
            }
        }
    #endif
}
