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

    /// The workers that a pool has launched.
    private final class Workers: Sendable {
        let peers = Mutex<[TestPeer]>([])

        func launch(
            _ behaviour: (Int) -> PeerBehaviour, _ searcher: Searcher = Searcher()
        ) async throws -> WorkerProcess {
            let peer = try peers.withLock { peers in
                peers.append(
                    try TestPeer(searcher, behaviour: behaviour(peers.count), configuration: .patientExample))
                return peers[peers.count - 1]
            }
            return try await WorkerProcess(peer.connection)
        }
    }

    @Test("A worker that dies between two blocks is replaced, and every prime is found once", arguments: [1, 3])
    func deathBetweenBlocks(lanes: Int) async throws {
        let workers = Workers()
        let pool = Pool(Self.blocks, killsOne: false) { _ in
            try await workers.launch { $0 == 0 ? .dies(after: 2, .exited(1)) : PeerBehaviour() }
        }
        #expect(try await pool.search(workers: lanes) == Self.primes)
        let peers = workers.peers.withLock { $0 }
        #expect(peers.count == lanes + 1 && peers[0].calls.count == 3)
        #expect("\(await peers[0].connection.ended)" == "the helper has ended with status 1")
    }

    @Test("Nothing of a block counts whose worker dies in the middle of it")
    func deathInBlock() async throws {
        let workers = Workers()
        let searcher = Searcher { number in
            if number == 43 { workers.peers.withLock { $0.count == 1 ? $0[0] : nil }?.die() }
        }
        let pool = Pool(Self.blocks, killsOne: false) { _ in try await workers.launch({ _ in .init() }, searcher) }
        #expect(try await pool.search(workers: 1) == Self.primes)
        #expect(workers.peers.withLock { $0.count } == 2)
    }

    @Test("A worker of another version ends the search with an error")
    func missingMessage() async throws {
        let workers = Workers()
        let pool = Pool(Self.blocks, killsOne: false) { _ in try await workers.launch { _ in .lacks("primes") } }
        let error = await #expect(throws: ConnectionError.self) { try await pool.search(workers: 2) }
        #expect(error?.code == .interfaceMismatch)
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
