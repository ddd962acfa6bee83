/// What a worker has found in a block.
public struct Tally: Codable, Sendable {
    /// How many primes it has sent.
    public var found: Int

    /// Makes a tally.
    public init(found: Int) { self.found = found }
}
