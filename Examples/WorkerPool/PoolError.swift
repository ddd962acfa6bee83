/// What must not happen in the pool.
struct PoolError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
