// Feeds a connection bytes from libFuzzer as its peer's stream.
//
// In most runs the loop is driven by hand and the link is in memory: the same input gives the same run. In the others
// the link is a socketpair on a separate loop, so that the peer can share memory with the connection, or pretend to.
// The connection vends an object with messages of every kind, and calls the peer itself. The stream ends with the
// input; then every call must have ended, every table must be empty, and nothing may be left of the connection or of
// any object.
//
// Built and run by `Tests/Fuzz/run`.

import Glibc
import Synchronization

@testable import DistantObjects
@testable import PortTransport

/// Called by libFuzzer with each input.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzConnection(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    guard count >= 3 else { return 0 }
    let plan = Plan(UnsafeRawBufferPointer(start: start, count: count))
    plan.isOverSocket ? fuzzOverSocket(plan) : fuzzInMemory(plan)
    return 0
}

private func fuzzInMemory(_ plan: Plan) {
    guard let party = run(plan) else { return }
    require(party.watched == nil, "the connection is still there")
    let left = living.load(ordering: .relaxed)
    require(left == 0, "\(left) objects are still there")
}

/// Like `fuzzInMemory`, but other threads have to finish their work first.
private func fuzzOverSocket(_ plan: Plan) {
    let descriptors = openDescriptors()
    guard let party = SocketRun.run(plan) else { return }
    waitUntil("the connection is let go") { party.watched == nil }
    waitUntil("objects are let go") { living.load(ordering: .relaxed) == 0 }
    waitUntil("descriptors are closed") { openDescriptors() <= descriptors }
    waitUntil("memory is unmapped") { Guards.mappings == 0 }
}

private func run(_ plan: Plan) -> Party? {
    let loop = ManualLoop(seed: plan.isSplit ? 1 : nil)
    let (near, far) = MemoryLink.pair(seed: plan.isSplit ? 2 : nil, capacity: 1 << 17)
    guard let party = try? Party(near, on: loop, isInitiator: plan.isInitiator, queue: plan.queue) else { return nil }
    let peer = RawEnd(far)
    for (index, piece) in plan.pieces.enumerated() {
        if index == plan.pieces.count / 2 {
            if plan.closes { party.close() }
            if plan.cuts { party.invalidate() }
        }
        feed(piece.bytes, to: peer, loop)
    }
    settle(peer, loop)
    if plan.waits { loop.advance(by: .seconds(3)) }
    settle(peer, loop)
    peer.end.finishWriting()
    settle(peer, loop)
    peer.end.close()
    settle(peer, loop)
    loop.advance(by: .seconds(10))
    party.check()
    settle(peer, loop)
    return party
}

private func feed(_ bytes: [UInt8], to peer: RawEnd, _ loop: ManualLoop) {
    bytes.withUnsafeBytes { bytes in
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = peer.write(UnsafeRawBufferPointer(rebasing: rest))
            rest = rest.dropFirst(count)
            settle(peer, loop)
            // The connection accepts no more bytes.
            if count == 0 { return }
        }
    }
}

/// Runs pending jobs, and reads the connection's output.
private func settle(_ peer: RawEnd, _ loop: ManualLoop) {
    repeat { loop.runUntilIdle() } while !peer.read().isEmpty
    loop.runUntilIdle()
}
