import CPortShims
import Synchronization
import TestSupport
import Testing

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// A link between a client and a server of this machine that delays, holds or loses what it carries.
///
/// Each direction of a connection has a thread, which ends with the connection.
final class PoorLink: Sendable {
    enum Behaviour: Sendable {
        case pass
        /// Each part waits for that long.
        case delay(milliseconds: UInt32)
        /// Nothing goes on, and nothing is lost.
        case hold
        /// One byte of the next part is lost.
        case loseOne
    }

    let port: UInt16
    private let listening: CInt
    private let server: UInt16
    private let behaviour = Mutex(Behaviour.pass)
    private let bytes = Atomic<Int>(0)

    /// - Parameter server: The port of the server.
    init(to server: UInt16) throws {
        self.server = server
        (listening, port) = try systemListeningSocket()
        try #require(listen(listening, 8) == 0)
        let descriptor = listening
        try Self.start { [self] in accept(from: descriptor) }
    }

    /// Ends the thread that accepts, and with it this object.
    func close() { shutdown(listening, CInt(SHUT_RDWR)) }

    func set(_ behaviour: Behaviour) { self.behaviour.withLock { $0 = behaviour } }

    /// The bytes that have gone on so far.
    var carried: Int { bytes.load(ordering: .relaxed) }

    private static func start(_ body: @escaping @Sendable () -> Void) throws {
        let box = Unmanaged.passRetained(Box(body))
        let failure = port_thread_start(
            { context in
                if let context { Unmanaged<Box>.fromOpaque(context).takeRetainedValue().body() }
                return nil
            }, box.toOpaque(), "poor-link")
        if failure != 0 { box.release() }
        try #require(failure == 0)
    }

    private final class Box: Sendable {
        let body: @Sendable () -> Void

        init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }

    private func accept(from descriptor: CInt) {
        defer { port_close(descriptor) }
        while true {
            let client = systemAccept(descriptor)
            guard client >= 0 else { return }
            let far = systemConnectedSocket(to: server)
            guard far >= 0 else {
                port_close(client)
                continue
            }
            // The direction that ends last closes both.
            let ends = Atomic<Int>(0)
            let shared = Shared(ends)
            for (from, to) in [(client, far), (far, client)] {
                try? Self.start { [self] in
                    carry(from, to)
                    shutdown(to, CInt(SHUT_WR))
                    shutdown(from, CInt(SHUT_RD))
                    if shared.isLast {
                        port_close(client)
                        port_close(far)
                    }
                }
            }
        }
    }

    private final class Shared: Sendable {
        private let ends: Atomic<Int>

        init(_ ends: consuming Atomic<Int>) { self.ends = ends }

        var isLast: Bool { ends.add(1, ordering: .sequentiallyConsistent).newValue == 2 }
    }

    private func carry(_ from: CInt, _ to: CInt) {
        var buffer = [UInt8](repeating: 0, count: 16 << 10)
        while true {
            var count = systemRead(from, &buffer)
            guard count > 0 else { return }
            switch waitUntilPassing() {
            case .pass, .hold: break
            case .delay(let milliseconds): usleep(milliseconds * 1_000)
            case .loseOne:
                buffer.remove(at: count / 2)
                buffer.append(0)
                count -= 1
                set(.pass)
            }
            var rest = buffer[..<count]
            while !rest.isEmpty {
                let sent = rest.withUnsafeBytes { systemSend(to, $0) }
                guard sent > 0 else { return }
                rest = rest.dropFirst(sent)
            }
            bytes.add(count, ordering: .relaxed)
        }
    }

    /// What is to be done with the next part, once something is.
    private func waitUntilPassing() -> Behaviour {
        while true {
            let now = behaviour.withLock { $0 }
            guard case .hold = now else { return now }
            usleep(1_000)
        }
    }
}
