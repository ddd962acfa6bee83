public import DistantObjects
internal import PortTransport

/// Two connected ends in this process, without a socket and without a process.
///
/// ```swift
/// let pair = try await ConnectionPair(seed: 7)
/// try pair.second.vend(Bank())
/// let bank = try await pair.first.root(as: BankInterface.self)
/// ```
///
/// Bytes go through memory of this process. With a seed they arrive in pieces of random sizes and after random delays, in the
/// same way each time if the ends are on a ``TestLoop``. All else is as between processes. Shared memory is not used.
public struct ConnectionPair: Sendable {
    /// The end that has opened the connection.
    public let first: Connection
    /// The end that has accepted it.
    public let second: Connection

    /// Connects two ends.
    ///
    /// - Parameters:
    ///   - first: The configuration of the first end.
    ///   - second: The configuration of the second end.
    ///   - seed: Decides how the bytes are cut and delayed; `nil` for not at all.
    ///   - capacity: The bytes that may be under way in one direction. A small number lets writers wait often.
    /// - Throws: `ConnectionError` if one end refuses the other.
    public init(
        first: Connection.Configuration = .init(), second: Connection.Configuration = .init(), seed: UInt64? = nil,
        capacity: Int = 65_536
    ) async throws {
        try self.init(first, second, seed, capacity, loop: nil)
        do {
            try await self.first.handshake()
            try await self.second.handshake()
        } catch {
            cut()
            throw error
        }
    }

    /// Connects two ends on a loop that the test runs by hand.
    ///
    /// - Parameters:
    ///   - loop: Runs both ends, here until they are connected.
    ///   - first: As for ends on the process's loop.
    ///   - second: As for ends on the process's loop.
    ///   - seed: As for ends on the process's loop.
    ///   - capacity: As for ends on the process's loop.
    /// - Throws: `ConnectionError` if an end cannot be made. An end that refuses the other has ended.
    public init(
        on loop: TestLoop, first: Connection.Configuration = .init(), second: Connection.Configuration = .init(),
        seed: UInt64? = nil, capacity: Int = 65_536
    ) throws {
        try self.init(first, second, seed, capacity, loop: loop)
        loop.runUntilIdle()
    }

    private init(
        _ one: Connection.Configuration, _ other: Connection.Configuration, _ seed: UInt64?, _ capacity: Int,
        loop: TestLoop?
    ) throws {
        var (one, other) = (one, other)
        one.loop = loop?.manual ?? one.loop
        other.loop = loop?.manual ?? other.loop
        one.name = one.name ?? "first"
        other.name = other.name ?? "second"
        let ends = MemoryLink.pair(seed: seed, capacity: capacity)
        first = try Connection.make(ends.0, one, isInitiator: true)
        second = try Connection.make(ends.1, other, isInitiator: false)
        second.begin()
        first.begin()
    }

    /// Ends the connection at once, as when a process has died: calls under way fail on both ends.
    public func cut() {
        second.cut(seenBy: first)
        first.invalidate()
    }
}
