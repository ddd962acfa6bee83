public import DistantObjects

/// What a worker of the pool can be asked.
public struct WorkerInterface: Interface {
    /// The signatures.
    public init() {}
    /// Finds the primes of a block, one after the other, and tallies them at the end.
    public let primes = Signature<DistantStream<Int>.WithFinal<Tally>, Block>("primes")
}
