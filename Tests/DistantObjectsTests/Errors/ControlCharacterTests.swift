import DistantObjects
import Synchronization
import TestSupport
import Testing

@Suite("Control characters in what a peer says", .bounded())
struct ControlCharacterTests {
    /// Clears a terminal, sets its title, turns the direction of writing, and begins a line that looks like another one.
    private static let text = "no\u{1B}[2J\u{9B}1m\u{7}\u{202E}\u{2066}\u{2028}\u{7F}\r\nroot: welcome"
    private static let shown = "no?[2J?1m?????"

    private struct Failure: Error, Codable, CustomStringConvertible {
        let description: String
    }

    private final class Speaker: Vendable {
        static var messages: MessageTable<Speaker> {
            Message("fail", Speaker.fail)
            Message("refuse", Speaker.refuse)
        }

        func fail() throws -> Int { throw Failure(description: ControlCharacterTests.text) }
        func refuse() throws -> Int { throw ConnectionError(.overloaded, ControlCharacterTests.text) }
    }

    private func expectPlain(_ text: String, _ what: String) {
        let scalars = text.unicodeScalars
        #expect(
            !scalars.contains { $0.properties.generalCategory == .control && $0 != "\n" },
            "\(what): \(text.debugDescription)")
        #expect(!scalars.contains { [0x202E, 0x2066, 0x2028].contains($0.value) }, "\(what): \(text.debugDescription)")
        #expect(text.contains(Self.shown), "\(what): \(text.debugDescription)")
    }

    @Test(
        "The texts of a peer's errors have none when they are shown, and a method's error has all of them as a value",
        arguments: ["fail", "refuse"])
    func errorsWithControlCharacters(message: String) async throws {
        var server = Connection.Configuration.patient
        server.exposesErrorText = true
        let (client, other) = try await Connection.pair(first: .patient, second: server)
        other.vend(Speaker())
        let root = try await client.root
        do {
            let _: Int = try await root.message(message)()
            Issue.record("nothing was thrown")
        } catch let error as RemoteError {
            #expect(message == "refuse" || error.message.contains(Self.text))
            expectPlain("\(error)", message)
        }
        await client.close()
        _ = await other.ended
    }

    @Test("Neither the error of a refused client nor the event and the end of its connection has any")
    func refusalWithControlCharacters() async throws {
        let events = Mutex<[String]>([])
        var first = Connection.Configuration.patient
        first.onEvent = { event in
            guard event.code == .ended else { return }
            events.withLock { $0.append("\(event)") }
        }
        var second = Connection.Configuration.patient
        second.accept = Connection.AcceptRule { _, _ in Self.text }
        let place = try TemporaryFolder()
        let listener = try Listener(at: .path(place.socket), configuration: second)
        defer { listener.close() }
        let error = await #expect(throws: ConnectionError.self) {
            _ = try await Connection.open(.path(place.socket), configuration: first)
        }
        expectPlain("\(error as Any)", "error")
        await eventually("the event") { events.withLock { !$0.isEmpty } }
        for event in events.withLock({ $0 }) {
            expectPlain(event, "event")
            #expect(!event.contains("\n") && event.contains(#"\nroot: welcome"#))
        }
        expectPlain("\(ConnectionEnd.refused(Self.text))", "end")
    }
}
