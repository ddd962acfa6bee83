import DistantObjects
import TestSupport
import Testing

@Suite("Around a Goodbye", .bounded())
struct GoodbyeTests {
    /// A peer, and a connection whose timeout is a few times as long as a handshake takes on this machine.
    private static func greeted() async throws -> (RawPeer, Connection) {
        var configuration = Connection.Configuration.patient
        configuration.handshakeTimeout = .milliseconds(250)
        while true {
            let (raw, ours) = try RawPeerConnection.ends(.socketpair)
            raw.send(1, RawPeer.greeting(features: 1))
            do {
                return (raw, try await RawPeerConnection.adopt(ours, isInitiator: false, configuration))
            } catch let error as ConnectionError where error.code == .handshakeTimeout {
                raw.close()
                configuration.handshakeTimeout *= 2
            }
        }
    }

    @Test("A peer that says goodbye in order and keeps its socket open is cut off")
    func heldOpen() async throws {
        let (raw, connection) = try await Self.greeted()
        raw.send(16, [1, 0, 0])
        guard case .closedByPeer = await connection.ended else {
            Issue.record("it was not closed by the peer")
            return
        }
        // It was answered, as always.
        let kinds = try await onThread { raw.readToEnd().map(\.kind) }
        #expect(kinds == [1, 16])
        raw.close()
    }

    @Test("No frame follows a Goodbye, whatever is answered meanwhile")
    func last() async throws {
        for round in 0..<500 {
            let (raw, ours) = try RawPeerConnection.ends(.socketpair)
            raw.send(1, RawPeer.greeting(features: 1))
            let connection = try await RawPeerConnection.adopt(ours, isInitiator: false, .patient)
            let pings = (0..<200).flatMap { RawPeer.frame(11, RawPeer.number(UInt64($0))) }
            async let closed = connection.close()
            let kinds = try await onThread {
                raw.send(pings)
                raw.finishSending()
                return raw.readToEnd().map(\.kind)
            }
            _ = await closed
            #expect(kinds.last == 16 || !kinds.contains(16), "round \(round)")
        }
    }
}
