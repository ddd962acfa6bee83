public import DistantObjects

/// What a worker of the pool can be asked.
public struct WorkerInterface: Interface {
    /// The signatures.
    public init() {}
    /// Finds the primes of a block, one after the other, and tallies them at the end.
    public let primes = Signature<DistantStream<Int>.WithFinal<Tally>, Block>("primes")
}

/// Numbers to search; sent by copy.
public struct Block: Codable, Sendable {
    /// The first number.
    public var first: Int
    /// The last number; nil for a search without an end.
    public var last: Int?

    /// Makes a block.
    public init(first: Int, last: Int?) {
        self.first = first
        self.last = last
    }
}

/// What a worker has found in a block.
public struct Tally: Codable, Sendable {
    /// How many primes it has sent.
    public var found: Int

    /// Makes a tally.
    public init(found: Int) { self.found = found }
}
