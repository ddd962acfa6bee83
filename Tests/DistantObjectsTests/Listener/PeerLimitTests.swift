import DistantObjects
import PortTransport
import Synchronization
import TestSupport
import Testing

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

@Suite("Limit of connections of one peer", .bounded())
struct PeerLimitTests {
    /// A listener that serves a `Directory`, and the peers that it refused for too many connections.
    private final class Server: Sendable {
        let place: TemporaryFolder
        let directory = Directory()
        private let refusals: Refusals
        private let listener: Listener
        private let serving: Task<Void, any Error>

        init(connectionsOfPeer: Int, accept: Connection.AcceptRule = .sameUser) throws {
            let place = try TemporaryFolder()
            let refusals = Refusals()
            var configuration = Connection.Configuration.patient
            configuration.limits.connectionsOfPeer = connectionsOfPeer
            configuration.accept = accept
            configuration.onEvent = { event in
                guard event.code == .tooManyConnections else { return }
                #expect((event.error as? ConnectionError)?.code == .peerRefused)
                refusals.peers.withLock { $0.append(event.peer) }
            }
            let listener = try Listener(at: .path(place.socket), configuration: configuration)
            (self.place, self.refusals, self.listener) = (place, refusals, listener)
            // Not on the default executor, whose threads other tests block while they wait for processes.
            serving = Task(executorPreference: EventLoop.shared) { [directory] in
                for await connection in listener { connection.vend(directory) }
            }
        }

        /// The peers refused so far.
        var refused: [PeerCredentials?] { refusals.peers.withLock { $0 } }

        func close() async throws {
            listener.close()
            try await serving.value
        }
    }

    private final class Refusals: Sendable {
        let peers = Mutex<[PeerCredentials?]>([])
    }

    @Test("At the limit a process is refused until one of its connections has ended, with one event")
    func oneProcess() async throws {
        let server = try Server(connectionsOfPeer: 2)
        let socket = server.place.socket
        let one = try await Self.open(socket)
        let two = try await Self.open(socket)
        for _ in 0..<3 {
            do {
                _ = try await Self.open(socket)
                Issue.record("it was accepted")
            } catch let error as ConnectionError {
                #expect(error.code == .peerRefused && error.isSafeToRetry)
                #expect(error.message.contains("2 connections of process \(getpid())"), "\(error)")
            }
        }
        #expect(server.refused == [.current])
        for connection in [one, two] { try await Self.use(connection) }
        await one.close()
        let three = try await Self.openAtLast(socket)
        try await Self.use(three)
        #expect(server.refused == [.current])
        await expectCode(.peerRefused) { _ = try await Self.open(socket) }
        #expect(server.refused == [.current, .current])
        await two.close()
        await three.close()
        try await server.close()
    }

    @Test("A process at its limit keeps no other process out")
    func otherProcess() async throws {
        let server = try Server(connectionsOfPeer: 2)
        let socket = server.place.socket
        let one = try await Self.open(socket)
        let two = try await Self.open(socket)
        await expectCode(.peerRefused) { _ = try await Self.open(socket) }
        await #expect(processExitsWith: .success) { [socket = socket as String] in
            let mine = [try await Self.open(socket), try await Self.open(socket)]
            await expectCode(.peerRefused) { _ = try await Self.open(socket) }
            for connection in mine { try await Self.use(connection) }
        }
        #expect(server.refused.map { $0?.pid == getpid() } == [true, false])
        await one.close()
        await two.close()
        try await server.close()
    }

    @Test("All processes of another user count as one peer")
    func otherUserInPeerLimit() {
        typealias Peer = PeerCounts.Peer
        let own = PeerCredentials.current.uid
        func peer(_ pid: Int32, _ uid: UInt32) -> Peer { Peer(PeerCredentials(pid: pid, uid: uid, gid: 0)) }
        #expect(peer(7, own) == .process(7) && peer(8, own) == .process(8))
        #expect(peer(7, own + 1) == .user(own + 1) && peer(8, own + 1) == .user(own + 1))
        // In another namespace of processes.
        #expect(peer(0, own) == .user(own))
        #expect(Peer(nil) == .unknown)
        var counts = PeerCounts(maximum: 1)
        #expect(counts.enter(peer(7, own + 1)) == .admitted)
        #expect(counts.enter(peer(8, own + 1)) == .refused(isFirst: true))
        #expect(counts.enter(peer(9, own + 1)) == .refused(isFirst: false))
        #expect(counts.enter(peer(8, own)) == .admitted)
        counts.leave(peer(7, own + 1))
        #expect(counts.enter(peer(8, own + 1)) == .admitted)
        counts.leave(peer(8, own + 1))
        counts.leave(peer(8, own))
        #expect(counts.isEmpty)
    }

    @Test("The peer with most connections is known, and its first refusal")
    func largest() {
        var counts = PeerCounts(maximum: 5)
        #expect(counts.largest == nil && !counts.refuse(.process(1)))
        for peer in [1, 2, 2, 3] as [Int32] { #expect(counts.enter(.process(peer)) == .admitted) }
        #expect(counts.largest?.peer == .process(2) && counts.largest?.count == 2)
        #expect(counts.count(of: .process(3)) == 1 && counts.count(of: .process(4)) == 0)
        #expect(counts.refuse(.process(2)) && !counts.refuse(.process(2)))
        counts.leave(.process(2))
        counts.leave(.process(2))
        #expect(counts.largest?.count == 1)
    }

    @Test("After any sequence of connections and ends, there is room for the maximum again")
    func churnInPeerLimit() async throws {
        let server = try Server(connectionsOfPeer: 3)
        let socket = server.place.socket
        for _ in 0..<20 {
            let open = try await withThrowingTaskGroup(of: Connection?.self) { group -> [Connection] in
                for _ in 0..<8 {
                    group.addTask {
                        do {
                            return try await Self.open(socket)
                        } catch let error as ConnectionError where error.code == .peerRefused {
                            return nil
                        }
                    }
                }
                return try await group.reduce(into: [Connection]()) { if let connection = $1 { $0.append(connection) } }
            }
            #expect(open.count <= 3)
            for connection in open { await connection.close() }
        }
        // All of them have ended, so there is room for the maximum again.
        var open: [Connection] = []
        for _ in 0..<3 { open.append(try await Self.openAtLast(socket)) }
        await expectCode(.peerRefused) { _ = try await Self.open(socket) }
        for connection in open {
            try await Self.use(connection)
            await connection.close()
        }
        try await server.close()
    }

    private static func open(_ socket: String) async throws -> Connection {
        var configuration = Connection.Configuration.patient
        configuration.accept = .anyone
        return try await Connection.open(.path(socket), configuration: configuration)
    }

    /// Opens a connection once there is room for it, because the listener learns of another's end a moment later.
    private static func openAtLast(_ socket: String) async throws -> Connection {
        while true {
            do {
                return try await open(socket)
            } catch let error as ConnectionError where error.code == .peerRefused {
                try await Task.sleep(for: .milliseconds(1))
            }
        }
    }

    private static func use(_ connection: Connection) async throws {
        let back: Int = try await connection.root.echo(1)
        #expect(back == 1)
    }
}
