// Lets a connection share memory with a peer that writes anything from libFuzzer into it, at any time.
//
// The connection is real, over a socketpair and its own loop; the peer has the memory, both doorbells and the socket.
// The peer writes into the rings and their words; rings, fills, empties and closes the doorbells; moves and wakes
// waiting threads. In between it follows the rules, so that much is in progress. Meanwhile threads block in calls and
// tasks call. In the end the connection closes, is invalidated, or loses its peer. Nothing may trap, access other
// memory or hang. Each call must end with a value or an error. Nothing may be left of the connection, of an object, of
// a descriptor or of a mapping, while the peer keeps everything open.
//
// With threads, no two runs of an input are the same: reproducing a failure may take many runs.
//
// Built and run by `Tests/Fuzz/run`.

import Dispatch
import Glibc
import Synchronization

@testable import DistantObjects
@testable import PortTransport

/// Called by libFuzzer with each input.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzSharedMemory(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    guard let script = Script(UnsafeRawBufferPointer(start: start, count: count)) else { return 0 }
    let descriptors = openDescriptors()
    let watched = run(script)
    waitUntil("the connection is let go") { watched.connection == nil }
    waitUntil("descriptors are closed") { openDescriptors() <= descriptors }
    waitUntil("memory is unmapped") { Guards.mappings == 0 }
    waitUntil("objects are let go") { living.load(ordering: .relaxed) == 0 }
    return 0
}

/// A connection that should be gone.
private final class Watched {
    weak var connection: Connection?
}

private func run(_ script: Script) -> Watched {
    guard let (near, far) = try? ChannelEndpoint.socketPair(),
        let honest = try? HonestSide(near, isInitiator: script.peerMakes, polls: script.polls)
    else { fatalError("no socketpair") }
    let peer = SharedPeer(far, makes: script.peerMakes)
    let guards = Guards()
    let (work, fire) = (DispatchGroup(), DispatchGroup())
    honest.start(script.steps, on: script.blockers, work)
    if script.isUnderFire { DispatchQueue.global().async(group: fire) { peer.fire(seed: script.seed) } }
    var deeds = script.deeds
    peer.act(&deeds)
    end(honest, peer, script)
    peer.cease()
    let limit = DispatchTime.now() + .nanoseconds(Int(Bound.step))
    require(work.wait(timeout: limit) == .success, "a thread does not come back from a call")
    require(fire.wait(timeout: limit) == .success, "the peer does not cease")
    waitUntil("the calls end") { honest.isAtRest }
    require(honest.connection.statistics.isAtRest, "something is left: \(honest.connection.statistics)")
    // Now only the peer has the memory, and everything that was shared.
    waitUntil("the connection lets go of the memory") { Guards.mappings <= 1 }
    guards.remove()
    let watched = Watched()
    watched.connection = honest.connection
    return watched
}

/// Ends the connection as the script says; the peer keeps everything open, unless it is the one that leaves.
private func end(_ honest: HonestSide, _ peer: SharedPeer, _ script: Script) {
    let connection = honest.connection
    switch script.ending {
    case .close, .closeUnderFire:
        if script.ending == .close { peer.cease() }
        let over = DispatchGroup()
        DispatchQueue.global().async(group: over) { _ = try? connection.blockingClose(timeout: .milliseconds(10)) }
        let limit = DispatchTime.now() + .nanoseconds(Int(Bound.step))
        require(over.wait(timeout: limit) == .success, "close does not return")
    case .invalidate: connection.invalidate()
    case .peerLeaves: peer.leave()
    }
    waitUntil("the connection ends") { connection.hasEnded }
}

/// Writes seed inputs into the directory that `FUZZ_SEEDS` names.
@_cdecl("LLVMFuzzerInitialize")
public func prepareSeeds(
    _ count: UnsafeMutablePointer<CInt>,
    _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?>
) -> CInt {
    guard let directory = getenv("FUZZ_SEEDS") else { return 0 }
    for (index, seed) in seeds.enumerated() {
        guard let file = fopen("\(String(cString: directory))/seed\(index)", "w") else { continue }
        fwrite(seed, 1, seed.count, file)
        fclose(file)
    }
    return 0
}

/// Inputs with each step, each action of the peer, and each ending.
private var seeds: [[UInt8]] {
    var seeds: [[UInt8]] = []
    for first in stride(from: UInt8(0), to: 0x80, by: 7) {
        let steps = (0..<15).map { UInt8($0) | first << 4 }
        let deeds: [UInt8] = (0..<16).flatMap { [UInt8($0), first, 0x11, 4, 0xF4] }
        seeds.append([first, first, 15] + steps + [0x14, 1, 0, 1, 0x11] + deeds)
        // A question, then more bytes than a ring can hold.
        seeds.append([first, 3, 2, 2, 5, 1, 0, 0xF4, 0xF9, 0xF9, 0xF4, 0xF9, 3, 0xF9, 3, first, 0xF9])
        seeds.append([first, 1, 4, 0, 2, 4, 5, 0xF4, 0xF4, 5, 1, first, 3])
        seeds.append([
            first, 2, 6, 0, 0xF2, 0xF5, 7, 8, 14, 1, 0, 1, 1, 1, 0x12, 0xF4, 10, first, 0xF4, 5, first, 9, 0xF4,
        ])
        // A region and its pieces, one more than it has, and a release in between.
        seeds.append([first, 4, 1, 0, 0x6F, 0xF4, 0x9F, 0xF4, 0x8F, 0x6F, 0xAF, 0xF4])
        seeds.append([first, 5, 2, 0, 1, 0x9F, 0xF4])
        seeds.append([first, 6, 1, 0, 0x6F, 0x6F, 0xF4, 0x9F, first, 0xAF])
        // Large messages of the connection, whose regions are taken.
        seeds.append([
            first, 7, 6, 0x42, 0x45, 0x55, 0x45, 0x42, 0x45, 0xF4, 0xCF, 0xF4, 0xF4, 0xBF, 0xF4, 0xDF, 0xF4, 0xDF,
        ])
    }
    return seeds
}
