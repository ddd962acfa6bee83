import CPortShims
import DistantObjects
import Synchronization
import Testing

#if canImport(FoundationEssentials)
    import FoundationEssentials
    import Glibc
#else
    import Foundation
#endif

/// A connection whose other end is a `RawPeer`, with everything that a death must not do twice counted.
struct Bereaved {
    enum Transport: String, CaseIterable, Sendable { case socketpair, pipes }

    let connection: Connection
    let raw: RawPeer
    let opened: Signal
    let ended: Signal

    /// - Parameter hello: What the peer says when it was greeted; a connection whose peer does not greet is not made.
    init(_ transport: Transport, hello: [UInt8] = RawPeer.hello, server: Bool = false) async throws {
        let (raw, ours) = try Self.ends(transport)
        let (opened, ended) = (Signal(), Signal())
        var configuration = Connection.Configuration.patient
        configuration.onEvent = { event in
            switch event.code {
            case .opened: opened.send()
            case .ended: ended.send()
            default: break
            }
        }
        // A server hears the greeting first, so it may lie in the kernel already; a client speaks first.
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
            // Close-on-exec: in a process that another test starts meanwhile an end would go on living.
            try #require(port_socketpair(&first) == 0)
            // The raw peer sends no credentials of its own; the kernel adds them from here on.
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

    /// A proxy of the peer's only object.
    func root() async throws -> DistantObject {
        async let root = connection.root
        let raw = raw
        let call = try await onThread { raw.read() }
        #expect(call?.kind == 2)
        raw.send(3, RawPeer.result(slot: 1))
        return try await root
    }

    /// The end, of which nothing is left.
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

    /// - Returns: The code of what was thrown.
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
