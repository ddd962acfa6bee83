import DistantObjects
import DistantTesting
import Synchronization
import TestSupport
import Testing
import WorkerPoolValues

@testable import WorkerPool

/// The pool's own code, with workers in this process.
@Suite("The pool of the example, without processes", .bounded())
struct PoolWithoutProcessTests {
    private static let blocks = stride(from: 0, to: 100, by: 10).map { Block(first: $0, last: $0 + 9) }
    private static let primes = [
        2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97,
    ]

    /// The workers that a pool has started.
    private final class Workers: Sendable {
        let peers = Mutex<[TestPeer]>([])

        func pool(
            _ count: Int, _ searcher: Searcher = Searcher(),
            _ behaviour: @escaping @Sendable (Int) -> PeerBehaviour = { _ in .init() }
        ) -> Pool {
            let helpers = (0..<count).map { _ in
                Helper(WorkerInterface.self, name: "worker") {
                    try self.peers.withLock { peers in
                        let peer = try TestPeer(
                            searcher, behaviour: behaviour(peers.count), configuration: .patientExample)
                        peers.append(peer)
                        return peer.connection
                    }
                }
            }
            return Pool(HelperPool(helpers), killsOne: false)
        }
    }

    @Test("A worker that dies between two blocks is replaced, and every prime is found once", arguments: [1, 3])
    func deathBetweenBlocks(count: Int) async throws {
        let workers = Workers()
        let pool = workers.pool(count) { $0 == 0 ? .dies(after: 2, .exited(1)) : PeerBehaviour() }
        #expect(try await pool.search(Self.blocks) == Self.primes)
        let peers = workers.peers.withLock { $0 }
        if count == 1 {
            #expect(peers.count == 2 && peers[0].calls.count == 3)
            #expect("\(await peers[0].connection.ended)" == "the helper has ended with status 1")
        }
        try await pool.stop()
    }

    @Test("Nothing of a block counts whose worker dies in the middle of it")
    func deathInBlock() async throws {
        let workers = Workers()
        let searcher = Searcher { number in
            if number == 43 { workers.peers.withLock { $0.count == 1 ? $0[0] : nil }?.die() }
        }
        let pool = workers.pool(1, searcher)
        #expect(try await pool.search(Self.blocks) == Self.primes)
        #expect(workers.peers.withLock { $0.count } == 2)
        try await pool.stop()
    }

    @Test("A worker of another version ends the search with an error")
    func missingMessage() async throws {
        let pool = Workers().pool(2) { _ in .lacks("primes") }
        let error = await #expect(throws: ConnectionError.self) { try await pool.search(Self.blocks) }
        #expect(error?.code == .closed)
        #expect(error?.description.contains("primes") == true, "\(error as Any)")
        try await pool.stop()
    }
}

/// Searches as the worker does.
private final class Searcher: Vendable, Implements {
    typealias I = WorkerInterface

    private let found: @Sendable (Int) -> Void

    static var messages: MessageTable<Searcher> {
        Message(\I.primes, Searcher.primes)
    }

    /// - Parameter found: Called with each prime before it is sent.
    init(_ found: @escaping @Sendable (Int) -> Void = { _ in }) { self.found = found }

    func primes(in block: Block) -> DistantStream<Int>.WithFinal<Tally> {
        DistantStream<Int>.WithFinal<Tally> { [found] writer in
            let primes = (max(2, block.first)...(block.last ?? 1_000)).filter { number in
                !(2..<number).contains { number.isMultiple(of: $0) }
            }
            for prime in primes {
                found(prime)
                try await writer.send(prime)
            }
            return Tally(found: primes.count)
        }
    }
}
