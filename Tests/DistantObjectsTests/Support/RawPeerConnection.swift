import CPortShims
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

/// A connection whose other end is a `RawPeer`, with counters for events that must occur only once.
struct RawPeerConnection {
    enum Transport: String, CaseIterable, Sendable { case socketpair, pipes }

    let connection: Connection
    let raw: RawPeer
    let opened: Signal
    let ended: Signal

    /// - Parameters:
    ///   - hello: The `Hello` of the peer.
    ///   - limits: The limits of the connection.
    init(
        _ transport: Transport, hello: [UInt8] = RawPeer.hello, server: Bool = false,
        limits: Connection.Limits = .init()
    ) async throws {
        let (raw, ours) = try Self.ends(transport)
        let (opened, ended) = (Signal(), Signal())
        var configuration = Connection.Configuration()
        configuration.limits = limits
        configuration = configuration.withLongTimeouts
        configuration.onEvent = { event in
            switch event.code {
            case .opened: opened.send()
            case .ended: ended.send()
            default: break
            }
        }
        // A server reads the peer's Hello first, so that may already be in the socket. A client sends its own first.
        raw.send(1, hello)
        connection = try await Self.adopt(ours, isInitiator: !server, configuration)
        _ = try await onThread { raw.read() == nil }
        self.raw = raw
        self.opened = opened
        self.ended = ended
    }

    static func ends(_ transport: Transport) throws -> (RawPeer, (reading: CInt, writing: CInt)) {
        var first: [CInt] = [-1, -1]
        var second: [CInt] = [-1, -1]
        switch transport {
        case .socketpair:
            // Close-on-exec, so that a process that another test starts meanwhile does not inherit an end.
            try #require(port_socketpair(&first) == 0)
            // The raw peer sends no credentials, so the kernel has to add them.
            var on: CInt = 1
            setsockopt(first[1], SOL_SOCKET, SO_PASSCRED, &on, socklen_t(MemoryLayout<CInt>.size))
            return (RawPeer(descriptor: first[0]), (first[1], first[1]))
        case .pipes:
            try #require(port_pipe(&first) == 0 && port_pipe(&second) == 0)
            return (RawPeer(reading: first[0], writing: second[1]), (second[0], first[1]))
        }
    }

    static func adopt(
        _ ends: (reading: CInt, writing: CInt), isInitiator: Bool, _ configuration: Connection.Configuration
    ) async throws -> Connection {
        if ends.reading == ends.writing {
            return try await .adopt(socket: ends.reading, isInitiator: isInitiator, configuration: configuration)
        }
        return try await .adopt(
            reading: ends.reading, writing: ends.writing, isInitiator: isInitiator, configuration: configuration)
    }

    /// A proxy for the peer's only object.
    func root() async throws -> DistantObject {
        async let root = connection.root
        let raw = raw
        let call = try await onThread { raw.read() }
        #expect(call?.kind == 2)
        raw.send(3, RawPeer.result(slot: 1))
        return try await root
    }

    /// Checks the end of the connection, and that nothing is left.
    func expectEnd(_ isExpected: (ConnectionEnd) -> Bool, location: SourceLocation = #_sourceLocation) async {
        let end = await connection.ended
        #expect(isExpected(end), "\(end)", sourceLocation: location)
        #expect(connection.statistics.isAtRest, "\(connection.statistics)", sourceLocation: location)
        #expect(opened.count == 1 && ended.count == 1, sourceLocation: location)
    }

    static func isLost(_ end: ConnectionEnd) -> Bool {
        if case .lost = end { return true }
        return false
    }

    /// Whether the peer is gone, and no status of a process was known when the connection ended.
    static func isLostWithoutStatus(_ end: ConnectionEnd) -> Bool {
        if case .lost(nil) = end { return true }
        return false
    }
}

/// A call that counts how often it ends.
final class CountedCall: Sendable {
    let ends = Signal()
    private let code = Mutex<ConnectionError.Code?>(nil)

    init(_ body: @escaping @Sendable () async throws -> Void) {
        Task {
            do {
                try await body()
            } catch let error as ConnectionError {
                code.withLock { $0 = error.code }
            } catch {
                Issue.record("\(error) was thrown")
            }
            ends.send()
        }
    }

    func expect(_ expected: ConnectionError.Code?, location: SourceLocation = #_sourceLocation) async {
        await expect(oneOf: [expected], location: location)
    }

    /// - Returns: The code of the error that was thrown.
    @discardableResult
    func expect(
        oneOf expected: [ConnectionError.Code?], location: SourceLocation = #_sourceLocation
    ) async -> ConnectionError.Code? {
        await ends.wait()
        #expect(ends.count == 1, sourceLocation: location)
        let code = code.withLock { $0 }
        #expect(expected.contains(code), "\(String(describing: code))", sourceLocation: location)
        return code
    }
}
