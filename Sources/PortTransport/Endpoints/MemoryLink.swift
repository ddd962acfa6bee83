internal import CPortShims

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// Receives the reports of one end of a memory link, which correspond to those of the poller for a descriptor.
protocol MemoryLinkUser: AnyObject, Sendable {
    /// There are bytes to read, or the end.
    func inputArrived()
    /// The link accepts bytes again.
    func outputPossible()
}

/// A connection inside one process and without the kernel.
///
/// For tests it splits, merges and delays bytes at random, in the same way each time for the same seed (when its channels are
/// on a `ManualLoop`).
package enum MemoryLink {
    /// Two connected ends.
    ///
    /// Without a seed, bytes arrive in the pieces they were sent in.
    ///
    /// - Parameters:
    ///   - capacity: The bytes that may be under way in one direction.
    ///   - knowsPeer: Whether this process is the peer of each end; if not, the peer is unknown, as on pipes.
    package static func pair(
        seed: UInt64? = nil, capacity: Int = 64 << 10, knowsPeer: Bool = false
    ) -> (ChannelEndpoint, ChannelEndpoint) {
        let shared = Shared(seed: seed, capacity: max(1, capacity))
        let first = End(shared, side: 0)
        let second = End(shared, side: 1)
        return (
            ChannelEndpoint(link: .memory(first), credentials: knowsPeer ? .connected : .none),
            ChannelEndpoint(link: .memory(second), credentials: knowsPeer ? .connected : .none)
        )
    }

    /// An end whose other end is gone.
    static func closedEnd() -> End { End(Shared(seed: nil, capacity: 1), side: 0) }

    /// Bytes on their way in one direction.
    fileprivate struct Direction {
        var bytes: [UInt8] = []
        var head = 0
        var isFinished = false
        var writerWaits = false
        var count: Int { bytes.count - head }
    }

    fileprivate final class Shared: @unchecked Sendable {  // `lock` protects everything below it.
        let lock = Lock()
        let capacity: Int
        /// Bytes on their way to side 0 and to side 1.
        var toward = [Direction(), Direction()]
        var isClosed = [false, false]
        var random: [SeededGenerator]?
        var users: [Weak] = [Weak(), Weak()]

        init(seed: UInt64?, capacity: Int) {
            self.capacity = capacity
            random = seed.map { [SeededGenerator(seed: $0), SeededGenerator(seed: ~$0)] }
        }

        deinit { lock.destroy() }

        /// The number of bytes, of `count`, that move now.
        func some(of count: Int, side: Int) -> Int {
            guard count > 1, random != nil else { return count }
            // Small pieces are frequent: frames are small, and the tests are about where they are cut.
            let isSmall = random?[side].below(2) == 0
            let bound = isSmall ? min(count, 24) : count
            return 1 + (random?[side].below(bound) ?? 0)
        }
    }

    fileprivate struct Weak {
        weak var user: (any MemoryLinkUser)?
    }

    /// One end of a link.
    package final class End: Sendable {
        private let shared: Shared
        private let side: Int

        fileprivate init(_ shared: Shared, side: Int) {
            self.shared = shared
            self.side = side
        }

        deinit { close() }

        /// Whether a read would return bytes or the end.
        var isReadable: Bool {
            shared.lock.withLock {
                shared.toward[side].count > 0 || shared.toward[side].isFinished || shared.isClosed[side]
            }
        }

        /// Whether the peer will not read what is written here.
        var isPeerClosed: Bool { shared.lock.withLock { shared.isClosed[1 - side] } }

        func attach(_ user: any MemoryLinkUser) {
            shared.lock.withLock { shared.users[side].user = user }
        }

        func write(_ vectors: UnsafePointer<iovec>, _ count: Int) -> Int {
            let (written, reader) = shared.lock.withLock { () -> (Int, (any MemoryLinkUser)?) in
                let other = 1 - side
                guard !shared.isClosed[side], !shared.isClosed[other], !shared.toward[other].isFinished else {
                    return (-Int(EPIPE), nil)
                }
                let total = (0..<count).reduce(0) { $0 + vectors[$1].iov_len }
                let room = shared.capacity - shared.toward[other].count
                guard room > 0 else {
                    shared.toward[other].writerWaits = true
                    return (-Int(EAGAIN), nil)
                }
                let moved = shared.some(of: min(total, room), side: side)
                var left = moved
                for index in 0..<count where left > 0 {
                    let part = min(left, vectors[index].iov_len)
                    shared.toward[other].bytes += UnsafeRawBufferPointer(start: vectors[index].iov_base, count: part)
                    left -= part
                }
                // After a short write the channel waits for room, as with a full kernel.
                if moved < total { shared.toward[other].writerWaits = true }
                return (moved, shared.users[other].user)
            }
            reader?.inputArrived()
            return written
        }

        func read(_ vectors: UnsafePointer<iovec>, _ count: Int) -> Int {
            let (read, writer) = shared.lock.withLock { () -> (Int, (any MemoryLinkUser)?) in
                guard !shared.isClosed[side] else { return (0, nil) }
                let available = shared.toward[side].count
                guard available > 0 else { return (shared.toward[side].isFinished ? 0 : -Int(EAGAIN), nil) }
                let room = (0..<count).reduce(0) { $0 + vectors[$1].iov_len }
                let moved = shared.some(of: min(available, room), side: side)
                var start = shared.toward[side].head
                var left = moved
                shared.toward[side].bytes.withUnsafeBytes { bytes in
                    for index in 0..<count where left > 0 {
                        let part = min(left, vectors[index].iov_len)
                        vectors[index].iov_base?.copyMemory(
                            from: bytes.baseAddress.unsafelyUnwrapped + start, byteCount: part)
                        start += part
                        left -= part
                    }
                }
                shared.toward[side].head = start
                if shared.toward[side].count == 0 {
                    shared.toward[side].bytes.removeAll(keepingCapacity: true)
                    shared.toward[side].head = 0
                }
                let waits = shared.toward[side].writerWaits
                shared.toward[side].writerWaits = false
                return (moved, waits ? shared.users[1 - side].user : nil)
            }
            writer?.outputPossible()
            return read
        }

        func finishWriting() {
            let reader = shared.lock.withLock { () -> (any MemoryLinkUser)? in
                shared.toward[1 - side].isFinished = true
                return shared.users[1 - side].user
            }
            reader?.inputArrived()
        }

        func close() {
            let other = shared.lock.withLock { () -> (any MemoryLinkUser)? in
                guard !shared.isClosed[side] else { return nil }
                shared.isClosed[side] = true
                shared.toward[1 - side].isFinished = true
                return shared.users[1 - side].user
            }
            other?.inputArrived()
            other?.outputPossible()
        }
    }
}
