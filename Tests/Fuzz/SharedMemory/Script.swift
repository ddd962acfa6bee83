/// The content of an input: who makes the memory, and what the connection and its peer do.
struct Script {
    /// How the connection ends.
    enum Ending: Int {
        case close, invalidate, peerLeaves, closeUnderFire
    }

    /// Whether the peer makes the memory, and the connection is the initiator.
    var peerMakes: Bool
    var ending: Ending
    /// Whether the loop and blocking threads poll for a while before they sleep.
    var polls: Bool
    /// The number of threads that block in calls at the same time.
    var blockers: Int
    /// Whether another thread keeps writing anything anywhere in the meantime.
    var isUnderFire: Bool
    var seed: UInt64
    /// The steps of the connection, a byte each.
    var steps: [UInt8]
    /// The actions of the peer.
    var deeds: Deeds

    init?(_ input: UnsafeRawBufferPointer) {
        guard input.count >= 4 else { return nil }
        let first = input[0]
        peerMakes = first & 1 != 0
        ending = Ending(rawValue: Int(first >> 1 & 3)) ?? .close
        polls = first & 8 != 0
        blockers = 1 + Int(first >> 4 & 1)
        isUnderFire = first & 0x60 == 0x60
        seed = UInt64(input[1])
        let count = min(Int(input[2] & 15), input.count - 3)
        steps = Array(input[3..<(3 + count)])
        deeds = Deeds(rest: Array(input[(3 + count)...])[...])
    }
}

/// The peer's part of a script.
struct Deeds {
    fileprivate var rest: ArraySlice<UInt8>
    private var left = 96

    fileprivate init(rest: ArraySlice<UInt8>) { self.rest = rest }

    var isOver: Bool { rest.isEmpty || left == 0 }

    mutating func byte() -> UInt8 { rest.popFirst() ?? 0 }

    mutating func short() -> Int { Int(byte()) | Int(byte()) << 8 }

    mutating func bytes(_ count: Int) -> [UInt8] {
        defer { rest = rest.dropFirst(count) }
        return Array(rest.prefix(count))
    }

    mutating func next() -> UInt8 {
        left -= 1
        return byte()
    }
}
