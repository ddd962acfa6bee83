import Glibc
import Synchronization

@testable import DistantObjects
@testable import PortTransport

/// Records two real parties that talk to each other, one input for each link.
private func recordSeeds() -> [[UInt8]] {
    let loop = ManualLoop()
    let (near, first) = MemoryLink.pair(capacity: 1 << 20)
    let (distant, second) = MemoryLink.pair(capacity: 1 << 20)
    guard let one = try? Party(near, on: loop, isInitiator: true, queue: 64),
        let other = try? Party(distant, on: loop, isInitiator: false, queue: 64)
    else { return [] }
    let ends = [RawEnd(first), RawEnd(second)]
    var heard: [[UInt8]] = [[], []]
    func relay() {
        var isQuiet = false
        while !isQuiet {
            isQuiet = true
            loop.runUntilIdle()
            for side in 0..<2 {
                let bytes = ends[side].read()
                guard !bytes.isEmpty else { continue }
                isQuiet = false
                heard[side] += bytes
                _ = bytes.withUnsafeBytes { ends[1 - side].write($0) }
            }
        }
    }
    relay()
    loop.advance(by: .seconds(3))
    relay()
    one.close()
    relay()
    for end in ends { end.end.close() }
    loop.advance(by: .seconds(10))
    relay()
    one.check()
    other.check()
    // Otherwise no seed would have a description that fits.
    for party in [one, other] { require(party.counts.typed.load(ordering: .relaxed) > 0, "no root fits its interface") }
    var seeds: [[UInt8]] = []
    for side in 0..<2 {
        let frames = split(heard[side])
        // The peer of a recorded initiator is an acceptor.
        let isInitiator = side == 1
        let short = frames.filter { $0.body.count < 4_096 }
        for end in stride(from: 2, through: short.count, by: 4) {
            seeds.append(
                Plan.input(frames: Array(short[1..<end]), isInitiator: isInitiator, second: UInt8(end % 3)))
        }
        seeds.append(Plan.input(frames: Array(frames.dropFirst()), isInitiator: isInitiator))
        seeds += shares(Array(short.dropFirst().prefix(12)), isInitiator: isInitiator)
        seeds.append([isInitiator ? 1 : 0, 0, 0] + heard[side].prefix(4_000))
        seeds.append([isInitiator ? 57 : 56, 0, 0] + heard[side].prefix(4_000))
    }
    return seeds
}

/// Runs over a socketpair in which the sides switch to shared memory, or try to, with each gift.
private func shares(_ frames: [(kind: UInt8, flags: UInt8, body: [UInt8])], isInitiator: Bool) -> [[UInt8]] {
    Gift.allCases.flatMap { gift -> [[UInt8]] in
        [UInt8(0), 3, 5].map { way in
            // A connection that is the initiator asks for memory after a message.
            let features = isInitiator ? Plan.features : Plan.features | Features.initiator.rawValue
            var bytes = Plan.options(isInitiator ? 69 : 68, features: features)
            if isInitiator { bytes += [11, 0, 1, 0, 0, 0, 1] }
            bytes += [17, isInitiator ? 1 : 0, 0, 0, isInitiator ? gift.rawValue : 0, way]
            bytes += [17, 2, 0, 0, isInitiator ? 0 : gift.rawValue, way]
            return bytes + Plan.input(frames: frames, isInitiator: isInitiator).dropFirst(3)
        }
    }
}

private func split(_ stream: [UInt8]) -> [(kind: UInt8, flags: UInt8, body: [UInt8])] {
    var frames: [(kind: UInt8, flags: UInt8, body: [UInt8])] = []
    var rest = stream[...]
    while rest.count >= 8 {
        let header = Array(rest.prefix(8))
        let length = (0..<4).reduce(0) { $0 | Int(header[$1]) << (8 * $1) }
        frames.append((header[4], header[5], Array(rest.dropFirst(8).prefix(length))))
        rest = rest.dropFirst(8 + length)
    }
    return frames
}

/// Writes seed inputs into the directory that `FUZZ_SEEDS` names.
@_cdecl("LLVMFuzzerInitialize")
public func prepareSeeds(
    _ count: UnsafeMutablePointer<CInt>,
    _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?>
) -> CInt {
    guard let directory = getenv("FUZZ_SEEDS") else { return 0 }
    for (index, seed) in recordSeeds().enumerated() {
        guard let file = fopen("\(String(cString: directory))/seed\(index)", "w") else { continue }
        fwrite(seed, 1, seed.count, file)
        fclose(file)
    }
    return 0
}
