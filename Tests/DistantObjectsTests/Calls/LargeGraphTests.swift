import Dispatch
import DistantObjects
import Synchronization
import TestSupport
import Testing

/// What happens to the leaves of one test that were decoded.
private final class Fall: Sendable {
    let fallen = Signal()
    /// Holds the first leaf in its `deinit`.
    let gate = DispatchSemaphore(value: 0)
    private let isFirst = Mutex(true)

    func leafFalls() {
        let isFirst = isFirst.withLock { isFirst in
            defer { isFirst = false }
            return isFirst
        }
        if isFirst { gate.wait() }
        fallen.send()
    }
}

private final class Leaf: ObjectCoding, Sendable {
    static let falls = Mutex<[Fall]>([])

    private let place: Int
    private let isDecoded: Bool

    /// A leaf whose copy tells the fall at a place in `falls`.
    init(_ place: Int) {
        self.place = place
        isDecoded = false
    }

    init(coder: borrowing ObjectDecoder) throws {
        place = try coder.decode(Int.self, forKey: "place")
        isDecoded = true
    }

    func encode(with coder: ObjectEncoder) throws { try coder.encode(place, forKey: "place") }

    deinit {
        guard isDecoded else { return }
        Self.falls.withLock({ $0[place] }).leafFalls()
    }
}

private final class Tree: Vendable {
    static var messages: MessageTable<Tree> {
        Message("count", Tree.count)
        Message("open", Tree.open)
    }

    let fall = Fall()

    func count(_ leaves: [Leaf]) -> Int { leaves.count }
    func open() { fall.gate.signal() }
}

@Suite("Large graphs as arguments", .bounded())
struct LargeGraphTests {
    private static let count = 1_000

    /// Calls a tree, and waits until all leaves that it got are freed.
    private func call(_ body: (Tree, DistantObject, [Leaf]) async throws -> Void) async throws {
        let tree = Tree()
        let place = Leaf.falls.withLock { falls in
            falls.append(tree.fall)
            return falls.count - 1
        }
        let pair = try await Pair()
        pair.server.vend(tree, as: "tree")
        try await body(tree, pair.client.root(named: "tree"), (0..<Self.count).map { _ in Leaf(place) })
        await tree.fall.fallen.wait(for: Self.count)
        await pair.close()
    }

    @Test("A call with a large graph is answered before the graph is freed")
    func answeredFirst() async throws {
        try await call { (tree, remote, leaves) async throws in
            #expect(try await remote.count(leaves) == Self.count)
            tree.fall.gate.signal()
        }
    }

    @Test("A deinit in a large graph may wait for a call that arrived with the graph")
    func waitingDeinit() async throws {
        try await call { (_, remote, leaves) async throws in
            async let count: Int = remote.count(leaves)
            async let opened: Void = remote.open()
            #expect(try await count == Self.count)
            try await opened
        }
    }
}
