import CPortShims
import Glibc

@testable import DistantObjects
@testable import PortTransport

/// A run over a socketpair and a real loop, where `Share` takes effect.
///
/// Once the peer has announced that it continues in memory, its bytes go there.
final class SocketRun {
    private let peer: HostileSocket
    private var memory: HostileMemory?
    private var hasMoved = false

    private static let loop: EventLoop = {
        guard let loop = try? EventLoop() else { fatalError("no loop") }
        return loop
    }()

    private init(_ endpoint: ChannelEndpoint) { peer = HostileSocket(endpoint) }

    static func run(_ plan: Plan) -> Party? {
        guard let (near, far) = try? ChannelEndpoint.socketPair(),
            let party = try? Party(near, on: loop, isInitiator: plan.isInitiator, queue: plan.queue)
        else { return nil }
        let run = SocketRun(far)
        for (index, piece) in plan.pieces.enumerated() {
            if index == plan.pieces.count / 2 {
                if plan.closes { party.close() }
                if plan.cuts { party.invalidate() }
            }
            run.deliver(piece, isSplit: plan.isSplit)
        }
        run.finish(party)
        party.awaitEnd()
        party.check()
        return party
    }

    private func deliver(_ piece: Plan.Piece, isSplit: Bool) {
        if hasMoved, let memory {
            memory.write(piece.bytes)
            _ = memory.read()
            return
        }
        guard let share = piece.share else {
            send(piece.bytes[...], isSplit)
            peer.receive()
            return peer.forget()
        }
        // Some peers first wait for the frame that this one answers.
        if share.waits { peer.receive(waiting: 3_000_000) }
        let (descriptors, made) = share.gift.make()
        var bytes = piece.bytes
        bytes[6] = UInt8(truncatingIfNeeded: descriptors.count + share.surplus)
        peer.send(bytes, descriptors)
        for descriptor in descriptors { port_close(descriptor) }
        peer.receive(waiting: 3_000_000)
        peer.forget()
        var received = peer.takeReceived()
        if let made {
            memory = made
        } else if memory == nil, let taken = HostileMemory(taking: received) {
            // `memory` closes the descriptors in the end.
            memory = taken
            received = []
        }
        for descriptor in received { port_close(descriptor) }
        if bytes[5] == 2 { hasMoved = true }
    }

    /// Writes as many bytes as the connection accepts.
    private func send(_ bytes: ArraySlice<UInt8>, _ isSplit: Bool) {
        var rest = isSplit ? bytes.dropFirst(peer.send(Array(bytes.prefix(bytes.count / 2)))) : bytes
        for _ in 0..<8 where !rest.isEmpty {
            rest = rest.dropFirst(peer.send(Array(rest)))
            if !rest.isEmpty { peer.receive(waiting: 1_000_000) }
        }
    }

    /// Ends the stream, reads the connection's remaining output for a moment, and leaves.
    private func finish(_ party: Party) {
        peer.shutdown(reading: false, writing: true)
        for _ in 0..<20 where !party.hasEnded {
            peer.receive(waiting: 1_000_000)
            peer.forget()
            _ = memory?.read()
        }
        peer.close()
    }
}
