import DistantObjects
import Synchronization
import TestSupport
import Testing

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Conversations that were recorded with earlier versions, and have to go on like that with this one.
@Suite("Conversations with earlier versions", .bounded())
struct RecordedConversationTests {
    private static let names = ["before-descriptions", "interfaces", "promises-and-streams"]

    private func configuration(_ name: String) -> Connection.Configuration {
        var configuration = Connection.Configuration.patient
        configuration.sharesMemory = false
        // A call with a deadline says how much of it is left, which is never the same.
        configuration.lookupTimeout = nil
        configuration.programName = name
        configuration.errorTypes = [NotFound.self]
        return configuration
    }

    /// What the client says in a recording.
    private func converse(_ client: Connection, _ name: String) async throws {
        switch name {
        case "before-descriptions": try await converse(client)
        case "interfaces": try await Catalog.converse(client)
        default: try await Chronicle.converse(client)
        }
    }

    private var roots: [String: any Vendable] { ["": Directory(), "catalog": Catalog(), "chronicle": Chronicle(0)] }

    /// The oldest recording uses everything that the first version has.
    private func converse(_ client: Connection) async throws {
        // Frames that say what was let go are waited for, so that they do not cross the next call.
        func sent(_ count: UInt64) async {
            await eventually("\(count) frames are sent, of \(client.statistics)") {
                client.statistics.framesOut >= count || client.isEnded
            }
        }
        var root: DistantObject? = try await client.root
        let echo: Int = try await root!.echo(5)
        #expect(echo == 5)
        let count: Int = try await root!.add(Foo(name: "Ada", age: 36))
        #expect(count == 1)
        let bar: Bar = try await root!.bar(Bar([Foo(name: "Juliana", age: 7), Foo(name: "Nicolas", age: 3)]))
        #expect(bar.foos.map(\.age) == [8, 4])
        let observer = Observer()
        try await root!.watch(observer)
        let notes: Int = try await root!.tell("hello")
        #expect(notes == 1 && observer.notes.withLock { $0 } == ["hello"])
        do {
            let _: Int = try await root!.age("nobody")
            Issue.record("nobody has an age")
        } catch { #expect(error as? NotFound == NotFound(name: "nobody")) }
        await expectCode(.noSuchMessage) { try await root!.unheardOf() }
        await expectCode(.wrongArgument) { try await root!.echo("five") }
        try await root!.note.oneWay(1)
        try await client.barrier()
        var own: DistantObject? = try await root!.observer()
        let isOwn: Bool = try await root!.isOwn(own!)
        #expect(isOwn)
        let before = client.statistics.framesOut
        own = nil
        await sent(before + 1)
        let bytes: [UInt8] = try await root!.made(70_000)
        #expect(bytes.count == 70_000)
        await sent(before + 3)
        try await root!.forget()
        // The last Release says that this one was entered before it.
        await eventually("the observer is let go") { client.statistics.exports == 0 || client.isEnded }
        root = nil
        await sent(before + 5)
        await client.close()
    }

    @Test(
        "The conversation is recorded anew where that is asked for",
        .enabled(if: names.contains(ProcessInfo.processInfo.environment["DISTANT_RECORD"] ?? "")))
    func record() async throws {
        let name = ProcessInfo.processInfo.environment["DISTANT_RECORD"] ?? ""
        let (left, clientEnd) = try RawPeerConnection.ends(.socketpair)
        let (right, serverEnd) = try RawPeerConnection.ends(.socketpair)
        let recorder = Recorder()
        async let toServer: Void = recorder.listen(to: .client, on: left, handingTo: right)
        async let toClient: Void = recorder.listen(to: .server, on: right, handingTo: left)
        async let accepted = RawPeerConnection.adopt(serverEnd, isInitiator: false, configuration("server"))
        let client = try await RawPeerConnection.adopt(clientEnd, isInitiator: true, configuration("client"))
        let server = try await accepted
        server.vend(roots)
        try await converse(client, name)
        _ = await server.ended
        _ = try await (toServer, toClient)
        try recorder.frames.write(
            named: name, "What RecordedConversationTests says, with DISTANT_RECORD=\(name)")
    }

    /// Compares what came with what was recorded, but for the features in `Hello`, the sentences of refusals, the order
    /// of bookkeeping, and the credit of streams.
    private func compare(_ answers: [Recording.Frame], _ recording: Recording, _ side: Recording.Speaker) {
        func parts(_ frames: [Recording.Frame]) -> (said: [[UInt8]], kept: Set<[UInt8]>) {
            (
                frames.dropFirst().filter { !$0.isBookkeeping }.map(\.comparable),
                Set(frames.filter(\.isBookkeeping).map(\.bytes))
            )
        }
        let recorded = recording.frames.filter { $0.speaker == side && !$0.isStreamCredit }
        #expect(answers.count == recorded.count)
        for (answer, expected) in zip(parts(answers).said, parts(recorded).said) { #expect(answer == expected) }
        #expect(parts(answers).kept == parts(recorded).kept)
        // Magic and version.
        #expect(answers.first?.bytes.prefix(13).dropFirst(4) == recorded.first?.bytes.prefix(13).dropFirst(4))
    }

    @Test("Items of a stream that come in two frames are compared as if they came in one")
    func splitItems() {
        func frame(_ body: [UInt8]) -> Recording.Frame { .init(speaker: .client, bytes: RawPeer.frame(8, body)) }
        var first = frame([0, 2, 0, 0, 0, 3, 1, 2, 2])
        first.append(frame([0, 2, 0, 0, 0, 2, 3, 4]))
        #expect(first.items == 4 && first.bytes == frame([0, 4, 0, 0, 0, 5, 1, 2, 2, 3, 4]).bytes)
    }

    @Test("A client of an earlier version is served as it was then", arguments: names)
    func serve(_ name: String) async throws {
        let recording = try Recording(named: name)
        let (raw, end) = try RawPeerConnection.ends(.socketpair)
        async let played = onThread { recording.play(.client, by: raw) }
        let server = try await RawPeerConnection.adopt(end, isInitiator: false, configuration("server"))
        server.vend(roots)
        let outcome = await server.ended
        guard case .closedByPeer = outcome else {
            Issue.record("\(outcome)")
            return
        }
        compare(try await played, recording, .server)
        #expect(server.statistics.isAtRest)
    }

    @Test("A server of an earlier version is called as it was then", arguments: names)
    func callInRecordedConversation(_ name: String) async throws {
        let recording = try Recording(named: name)
        let (raw, end) = try RawPeerConnection.ends(.socketpair)
        async let played = onThread { recording.play(.server, by: raw) }
        let client = try await RawPeerConnection.adopt(end, isInitiator: true, configuration("client"))
        try await converse(client, name)
        compare(try await played, recording, .client)
        #expect(client.statistics.isAtRest)
    }
}
