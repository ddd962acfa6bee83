import DistantObjects
import Synchronization
import TestSupport
import Testing

@Suite("Names and versions of programs in the handshake", .bounded())
struct ProgramVersionTests {
    private static func configuration(_ name: String, _ version: String) -> Connection.Configuration {
        var configuration = Connection.Configuration.patient
        configuration.programName = name
        configuration.programVersion = version
        return configuration
    }

    /// A `Hello` of a later protocol version: the first fields are those of today, others follow.
    private static func hello(version: UInt64, _ program: [UInt8]) -> [UInt8] {
        [0x44, 0x4F, 0x42, 0x4A] + RawPeer.number(version) + [0, 8, 8, 0] + program
    }

    @Test("Each side's event of the opening has the name and version of the other's program")
    func eventOfOpening() async throws {
        let programs = Mutex<[String: String]>([:])
        func noting(_ name: String, _ version: String) -> Connection.Configuration {
            var configuration = Self.configuration(name, version)
            configuration.onEvent = { event in
                guard event.code == .opened else { return }
                #expect("\(event)".contains(event.programVersion == "" ? "tool" : "helper 2.1 (beta)"))
                programs.withLock { $0[name] = "\(event.name ?? "?")|\(event.programVersion ?? "?")" }
            }
            return configuration
        }
        let (tool, helper) = try await Connection.pair(
            first: noting("tool", ""), second: noting("helper", "2.1 (beta)"))
        await eventually("both events") { programs.withLock { $0.count == 2 } }
        #expect(programs.withLock { $0 } == ["tool": "helper|2.1 (beta)", "helper": "tool|"])
        await tool.close()
        await helper.close()
    }

    @Test("Control characters in a peer's name and version reach neither an event's text nor a rule's sentence")
    func controlCharacters() async throws {
        let texts = Mutex<[String]>([])
        var second = Self.configuration("index", "")
        second.onEvent = { event in
            guard event.code == .opened else { return }
            texts.withLock { $0.append("\(event)") }
        }
        second.accept = Connection.AcceptRule { _, program in
            texts.withLock { $0.append("\(program)") }
            return nil
        }
        let (one, other) = try await Connection.pair(
            first: Self.configuration("edi\u{1B}[2Jtor\n", "1\r\n2\u{7}"), second: second)
        await eventually("both texts") { texts.withLock { $0.count == 2 } }
        for text in texts.withLock({ $0 }) { #expect(text.contains(#"edi?[2Jtor\n 1?\n2?"#)) }
        await one.close()
        await other.close()
    }

    @Test("A rule can refuse a program by its version, and both sides get the reason", arguments: [true, false])
    func refusedByVersion(byListener: Bool) async throws {
        let place = try TemporaryFolder()
        var old = Self.configuration("editor", "1.9")
        var new = Self.configuration("index", "2.0")
        let rule = Connection.AcceptRule { peer, program in
            #expect(peer?.isOfThisUser == true)
            return "\(program) is older than 2.0"
        }
        if byListener { new.accept = rule } else { old.accept = rule }
        let listener = try Listener(at: .path(place.socket), configuration: new)
        defer { listener.close() }
        do {
            _ = try await Connection.open(.path(place.socket), configuration: old)
            Issue.record("nothing was thrown")
        } catch let error as ConnectionError {
            #expect(error.code == .peerRefused)
            #expect("\(error)".contains(byListener ? "editor 1.9 is older than 2.0" : "index 2.0 is older than 2.0"))
        }
    }

    @Test(
        "The refusal of another protocol version says which side is older, whatever else its Hello has",
        arguments: [(0, true), (2, false), (1 << 40, false)], [true, false])
    func otherProtocol(_ peer: (version: Int, isOlder: Bool), isReadable: Bool) async throws {
        let place = try TemporaryFolder()
        let listener = try Listener(at: .path(place.socket), configuration: Self.configuration("index", "2.0"))
        defer { listener.close() }
        let raw = try RawPeer(connectingTo: place.socket)
        let program = isReadable ? RawPeer.text("edi\u{1B}[2Jtor\n") + RawPeer.text("1.9") + [7, 7, 7] : [0xFF, 0xFF]
        let frames = try await onThread { () -> [RawPeer.Frame] in
            raw.send(1, Self.hello(version: UInt64(peer.version), program))
            return raw.readToEnd()
        }
        #expect(frames.map(\.kind) == [16] && frames.first?.body.dropFirst().first == 2)
        let text = String(decoding: frames.first?.body.dropFirst(3) ?? [], as: UTF8.self)
        let client = isReadable ? #"the side that connects (edi?[2Jtor\n 1.9)"# : "the side that connects"
        let server = "the side that is connected to (index 2.0)"
        #expect(
            text.hasSuffix(
                peer.isOlder
                    ? "\(client) is older: it speaks protocol version \(peer.version), \(server) speaks version 1"
                    : "\(server) is older: it speaks protocol version 1, \(client) speaks version \(peer.version)"),
            "\(text)")
    }

    @Test("The side that connects reports an acceptor of another protocol version in the same words")
    func otherProtocolOfAcceptor() async throws {
        let (descriptor, peer) = try socketPair()
        let raw = RawPeer(descriptor: peer)
        let opening = Task {
            try await Connection.adopt(
                socket: descriptor, isInitiator: true, configuration: Self.configuration("editor", ""))
        }
        let frames = try await onThread { () -> [RawPeer.Frame] in
            let hello = raw.read()
            raw.send(1, Self.hello(version: 3, RawPeer.text("index") + RawPeer.text("9")))
            return [hello].compactMap { $0 } + raw.readToEnd()
        }
        #expect(frames.map(\.kind) == [1, 16])
        let sentence =
            "the side that connects (editor) is older: it speaks protocol version 1, "
            + "the side that is connected to (index 9) speaks version 3"
        do {
            _ = try await opening.value
            Issue.record("nothing was thrown")
        } catch {
            #expect("\(error)".contains(sentence), "\(error)")
        }
    }

    @Test("Too long a name or version of this program is cut, and one of a peer ends the handshake")
    func longVersions() async throws {
        let version = Mutex("")
        var second = Self.configuration("second", String(repeating: "é", count: 200))
        second.onEvent = { _ in }
        var first = Self.configuration("first", "")
        first.onEvent = { event in
            if event.code == .opened { version.withLock { $0 = event.programVersion ?? "" } }
        }
        let (one, other) = try await Connection.pair(first: first, second: second)
        await eventually("the event") { version.withLock { !$0.isEmpty } }
        #expect(version.withLock { $0 } == String(repeating: "é", count: 64))
        await one.close()
        await other.close()

        let place = try TemporaryFolder()
        let listener = try Listener(at: .path(place.socket), configuration: .patient)
        defer { listener.close() }
        let raw = try RawPeer(connectingTo: place.socket)
        let kinds = try await onThread { () -> [UInt8] in
            raw.send(1, RawPeer.hello + RawPeer.text(String(repeating: "v", count: 129)))
            return raw.readToEnd().map(\.kind)
        }
        #expect(kinds == [16])
    }
}
