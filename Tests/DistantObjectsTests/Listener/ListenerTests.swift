import CPortShims
import DistantObjects
import TestSupport
import Testing

#if canImport(FoundationEssentials)
    import FoundationEssentials
    import Glibc
#else
    import Foundation
#endif

@Suite("Listening at a path", .bounded())
struct ListenerTests {
    @Test("Each process that connects gets its own connection, and look-ups wait until something is vended")
    func accepts() async throws {
        let place = try TemporaryFolder()
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
        await serving.value
        #expect(!FileManager.default.fileExists(atPath: place.socket))
    }

    @Test("A listener that only its iteration holds stays open")
    func heldByIteration() async throws {
        let place = try TemporaryFolder()
        let serving = Task {
            for await connection in try Listener(at: .path(place.socket), configuration: .patient) {
                connection.vend(Directory())
            }
        }
        for _ in 0..<3 {
            let connection = try await Connection.open(
                .path(place.socket), timeout: TestTimeout.wait, configuration: .patient)
            let back: Int = try await connection.root.echo(1)
            #expect(back == 1)
            await connection.close()
        }
        serving.cancel()
        try await serving.value
        #expect(!FileManager.default.fileExists(atPath: place.socket))
    }

    @Test("A client can wait for a listener that starts later, even if a dead one left its socket")
    func waits() async throws {
        for isStale in [false, true] {
            let place = try TemporaryFolder()
            // The socket file of a killed server.
            if isStale { close(port_bind(place.socket, 0o600)) }
            let opening = Task {
                try await Connection.open(.path(place.socket), timeout: TestTimeout.wait, configuration: .patient)
            }
            await #expect(throws: ConnectionError.self) {
                try await Connection.open(.path(place.socket), timeout: .milliseconds(5))
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
            await serving.value
        }
    }

    @Test("Waiting for a listener ends with the task, and permanent errors are not waited for")
    func waitsInVain() async throws {
        let place = try TemporaryFolder()
        let opening = Task {
            try await Connection.open(.path(place.socket), timeout: TestTimeout.wait, configuration: .patient)
        }
        opening.cancel()
        await #expect(throws: CancellationError.self) { try await opening.value }
        try Data().write(to: URL(filePath: place.socket))
        for path in [place.socket, String(repeating: "x", count: 500)] {
            await expectCode(.transport) {
                _ = try await Connection.open(.path(path), timeout: TestTimeout.wait, configuration: .patient)
            }
        }
    }

    @Test("A peer that the accept rule refuses gets the reason")
    func refuses() async throws {
        let place = try TemporaryFolder()
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

    @Test("A missing listener, a long path and a path in use are errors that name the path")
    func pathsInListener() async throws {
        let place = try TemporaryFolder()
        await expectCode(.transport) { _ = try await Connection.open(.path(place.socket), configuration: .patient) }
        let long = place.path + "/" + String(repeating: "x", count: 200)
        await expectCode(.transport) { _ = try await Connection.open(.path(long)) }
        await expectCode(.transport) { _ = try Listener(at: .path(long)) }
        let missing = place.path + "/none/x.sock"
        let error = #expect(throws: ConnectionError.self) { _ = try Listener(at: .path(missing)) }
        #expect("\(error as Any)" == "Optional(\(missing): the folder for the socket does not exist)")
        let listener = try Listener(at: .path(place.socket), configuration: .patient)
        await expectCode(.transport) { _ = try Listener(at: .path(place.socket)) }
        listener.close()
        let again = try Listener(at: .path(place.socket), configuration: .patient)
        again.close()
    }

    @Test("A listener without free descriptors reports it, does not spin, and recovers")
    func noDescriptorsInListener() async {
        await #expect(processExitsWith: .success) {
            let place = try TemporaryFolder()
            let paused = Signal()
            var configuration = Connection.Configuration.patient
            configuration.onEvent = { event in
                guard event.code == .acceptPaused else { return }
                let error = event.error as? ConnectionError
                #expect(error?.code == .transport && error?.context == place.socket)
                paused.send()
            }
            #if canImport(Glibc)
                TaskThreads.replaceDispatch()
            #endif
            let listener = try Listener(at: .path(place.socket), configuration: configuration)
            let serving = Task {
                for await connection in listener { connection.vend(Directory()) }
            }
            let raw = try RawPeer(connectingTo: place.socket)
            // A client that connects meanwhile waits in the kernel.
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
            // The other connections still work.
            raw.send(11, [7])
            #expect(try await onThread { raw.read()?.body } == [7])
            await paused.wait()
            for descriptor in filling { close(descriptor) }
            peer.send(1, RawPeer.hello)
            #expect(try await onThread { peer.read()?.kind } == 1)
            listener.close()
            await serving.value
        }
    }

    @Test("A silent peer is cut off by the handshake timeout")
    func silenceInListener() async throws {
        let place = try TemporaryFolder()
        var configuration = Connection.Configuration.patient
        configuration.handshakeTimeout = .milliseconds(50)
        let listener = try Listener(at: .path(place.socket), configuration: configuration)
        let raw = try RawPeer(connectingTo: place.socket)
        let frames = try await onThread { raw.readToEnd() }
        #expect(frames.last?.kind == 16)
        listener.close()
    }
}
