import CPortShims
import DistantObjects
import Testing

#if canImport(FoundationEssentials)
    import FoundationEssentials
    import Glibc
#else
    import Foundation
#endif

@Suite("Listening at a path", .bounded())
struct ListenerTests {
    @Test("Each process that connects is a connection of its own; look-ups wait until something is vended")
    func accepts() async throws {
        let place = try Place()
        let listener = try Listener(at: .path(place.socket), configuration: .patient)
        let serving = Task {
            for await connection in listener { connection.vend(Directory()) }
        }
        let one = try await Connection.open(.path(place.socket), configuration: .patient)
        let two = try await Connection.open(.path(place.socket), configuration: .patient)
        let first: Int = try await one.root.add(Foo(name: "a", age: 1))
        let second: Int = try await two.root.add(Foo(name: "b", age: 1))
        #expect(first == 1 && second == 1)
        #expect(one.peer?.uid == PeerCredentials.current.uid)
        await one.close()
        await two.close()
        listener.close()
        try await serving.value
        #expect(!FileManager.default.fileExists(atPath: place.socket))
    }

    @Test("A listener that only a loop over its connections holds goes on listening")
    func heldByIteration() async throws {
        let place = try Place()
        let serving = Task {
            for await connection in try Listener(at: .path(place.socket), configuration: .patient) {
                connection.vend(Directory())
            }
        }
        for _ in 0..<3 {
            let connection = try await Connection.open(
                .path(place.socket), waitingUpTo: Patience.wait, configuration: .patient)
            let back: Int = try await connection.root.echo(1)
            #expect(back == 1)
            await connection.close()
        }
        serving.cancel()
        try await serving.value
        #expect(!FileManager.default.fileExists(atPath: place.socket))
    }

    @Test("A caller may come before the listener, even where a dead one left its socket")
    func waits() async throws {
        for isStale in [false, true] {
            let place = try Place()
            // What a killed server leaves behind.
            if isStale { close(port_bind(place.socket, 0o600)) }
            let opening = Task {
                try await Connection.open(.path(place.socket), waitingUpTo: Patience.wait, configuration: .patient)
            }
            await #expect(throws: ConnectionError.self) {
                try await Connection.open(.path(place.socket), waitingUpTo: .milliseconds(5))
            }
            let listener = try Listener(at: .path(place.socket), configuration: .patient)
            let serving = Task {
                for await connection in listener { connection.vend(Directory()) }
            }
            let connection = try await opening.value
            let back: Int = try await connection.root.echo(1)
            #expect(back == 1)
            await connection.close()
            listener.close()
            try await serving.value
        }
    }

    @Test("Waiting for a listener ends with the task, and what no time can mend is not waited for")
    func waitsInVain() async throws {
        let place = try Place()
        let opening = Task {
            try await Connection.open(.path(place.socket), waitingUpTo: Patience.wait, configuration: .patient)
        }
        opening.cancel()
        await #expect(throws: CancellationError.self) { try await opening.value }
        try Data().write(to: URL(filePath: place.socket))
        for path in [place.socket, String(repeating: "x", count: 500)] {
            await expectCode(.transport) {
                _ = try await Connection.open(.path(path), waitingUpTo: Patience.wait, configuration: .patient)
            }
        }
    }

    @Test("The accept rule refuses with its reason")
    func refuses() async throws {
        let place = try Place()
        var configuration = Connection.Configuration.patient
        configuration.accept = Connection.AcceptRule { _ in "not today" }
        let listener = try Listener(at: .path(place.socket), configuration: configuration)
        do {
            _ = try await Connection.open(.path(place.socket), configuration: .patient)
            Issue.record("the connection was accepted")
        } catch let error as ConnectionError {
            #expect(error.code == .peerRefused)
            #expect(error.message.contains("not today"))
        }
        listener.close()
    }

    @Test("Nobody listening, a path too long, a name taken: each is an error that names the path")
    func paths() async throws {
        let place = try Place()
        await expectCode(.transport) { _ = try await Connection.open(.path(place.socket), configuration: .patient) }
        let long = place.directory + "/" + String(repeating: "x", count: 200)
        await expectCode(.transport) { _ = try await Connection.open(.path(long)) }
        await expectCode(.transport) { _ = try Listener(at: .path(long)) }
        let missing = place.directory + "/none/x.sock"
        let error = #expect(throws: ConnectionError.self) { _ = try Listener(at: .path(missing)) }
        #expect(error?.message == "The folder for the socket \(missing) does not exist.")
        let listener = try Listener(at: .path(place.socket), configuration: .patient)
        await expectCode(.transport) { _ = try Listener(at: .path(place.socket)) }
        listener.close()
        let again = try Listener(at: .path(place.socket), configuration: .patient)
        again.close()
    }

    @Test("Without descriptors it neither ends nor spins, says so, and serves when there are some again")
    func noDescriptors() async {
        await #expect(processExitsWith: .success) {
            let place = try Place()
            let paused = Signal()
            var configuration = Connection.Configuration.patient
            configuration.onEvent = { event in
                guard event.code == .acceptPaused else { return }
                let error = event.error as? ConnectionError
                #expect(error?.code == .transport && error?.context == place.socket)
                paused.send()
            }
            let listener = try Listener(at: .path(place.socket), configuration: configuration)
            let serving = Task {
                for await connection in listener { connection.vend(Directory()) }
            }
            let raw = try RawPeer(connectingTo: place.socket)
            // Who connects while nothing is left waits in the kernel.
            #expect(systemLimitDescriptors(256))
            raw.send(1, RawPeer.hello)
            #expect(try await onThread { raw.read()?.kind } == 1)
            var filling: [CInt] = []
            let late = socket(AF_UNIX, streamSocket, 0)
            while true {
                let copy = dup(late)
                guard copy >= 0 else { break }
                filling.append(copy)
            }
            let peer = RawPeer(descriptor: late)
            #expect(peer.connect(to: place.socket))
            // The others are served meanwhile.
            raw.send(11, [7])
            #expect(try await onThread { raw.read()?.body } == [7])
            await paused.wait()
            for descriptor in filling { close(descriptor) }
            peer.send(1, RawPeer.hello)
            #expect(try await onThread { peer.read()?.kind } == 1)
            listener.close()
            try await serving.value
        }
    }

    @Test("A peer that connects and says nothing is ended by the handshake's time limit")
    func silence() async throws {
        let place = try Place()
        var configuration = Connection.Configuration.patient
        configuration.handshakeTimeout = .milliseconds(50)
        let listener = try Listener(at: .path(place.socket), configuration: configuration)
        let raw = try RawPeer(connectingTo: place.socket)
        let frames = try await onThread { raw.readToEnd() }
        #expect(frames.last?.kind == 16)
        listener.close()
    }
}

/// A directory of the test's own, removed with it.
final class Place: Sendable {
    let directory: String
    var socket: String { directory + "/s" }

    init() throws {
        directory = FileManager.default.temporaryDirectory.path + "/do-" + UUID().uuidString.prefix(8)
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
    }

    deinit {
        try? FileManager.default.removeItem(atPath: directory)
    }
}
