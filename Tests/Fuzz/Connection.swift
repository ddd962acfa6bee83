// Feeds a whole connection what libFuzzer makes up as its peer's stream.
//
// The loop is driven by hand and the link is memory, so one input is one run, always the same. The connection vends an
// object with messages of every kind and calls the peer itself. When the input is used up the stream ends; then every call
// must have ended, every table must be empty, and nothing may be left of the connection or of any object.
//
// Built and run by `Tests/Fuzz/run`.

import Glibc
import Synchronization

@testable import DistantObjects
@testable import KeyedArchive
@testable import PortTransport

// MARK: What travels

/// How many objects of this file are alive.
let living = Atomic<Int>(0)

/// A node of a graph by copy, with cycles.
final class FuzzNode: ObjectCoding {
    var name: String
    var children: [FuzzNode]
    weak var parent: FuzzNode?

    init(_ name: String, _ children: [FuzzNode] = []) {
        self.name = name
        self.children = children
        living.add(1, ordering: .relaxed)
        for child in children { child.parent = self }
    }

    init(coder: ObjectDecoder) throws {
        name = try coder.decode(String.self, forKey: "name")
        children = try coder.decode([FuzzNode].self, forKey: "children")
        living.add(1, ordering: .relaxed)
        try coder.decodeReference(FuzzNode.self, forKey: "parent") { self.parent = $0 }
    }

    deinit { living.subtract(1, ordering: .relaxed) }

    func encode(with coder: ObjectEncoder) throws {
        try coder.encode(name, forKey: "name")
        try coder.encode(children, forKey: "children")
        try coder.encodeConditional(parent, forKey: "parent")
    }
}

struct FuzzError: Error, Codable {
    var text: String
    var object: DistantObject?
}

/// What is called from outside: a method of each kind.
final class FuzzDirectory: Vendable {
    private struct State {
        var kept: [DistantObject] = []
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    // Reached only from the one thread that drives the loop.
    private let state = Mutex(State())

    init() { living.add(1, ordering: .relaxed) }
    deinit { living.subtract(1, ordering: .relaxed) }

    static var messages: MessageTable<FuzzDirectory> {
        Message("echo", FuzzDirectory.echo)
        Message("text", FuzzDirectory.text)
        Message("node", FuzzDirectory.node)
        Message("bytes", FuzzDirectory.bytes)
        Message("note", FuzzDirectory.note)
        Message("fail", FuzzDirectory.fail)
        Message("keep", FuzzDirectory.keep)
        Message("give", FuzzDirectory.give)
        Message("own", FuzzDirectory.own)
        Message("tell", FuzzDirectory.tell)
        Message("think", FuzzDirectory.think)
        Message("wait", FuzzDirectory.wait)
        Message("copy", FuzzDirectory.copy)
    }

    func echo(_ number: Int) -> Int { number }
    func text(_ texts: [String: [String?]]) -> Int { texts.count }
    func node(_ node: FuzzNode) -> FuzzNode { node }
    func bytes(_ bytes: [UInt8]) -> [UInt8] { bytes }
    func note(_ number: Int) {}
    func fail(_ text: String) throws { throw FuzzError(text: text, object: DistantObject(standingFor: self)) }
    func own(_ object: FuzzDirectory) -> Bool { object === self }
    func give() -> FuzzDirectory { FuzzDirectory() }
    func copy(_ node: ByCopy<FuzzNode>) -> ByCopy<FuzzNode> { node }

    func keep(_ object: DistantObject) -> DistantObject? {
        state.withLock { state in
            state.kept.append(object)
            return state.kept.count > 4 ? state.kept.removeFirst() : nil
        }
    }

    @concurrent func tell(_ object: DistantObject, _ number: Int) async throws -> Int {
        try await object.note.oneWay(number)
        return try await object.echo(number)
    }

    @concurrent func think(_ pauses: Int) async -> Int {
        for _ in 0..<(pauses & 7) { await Task.yield() }
        return pauses
    }

    /// Returns when the call is cancelled, which the end of a connection does too.
    @concurrent func wait() async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isCancelled = state.withLock { state in
                    if Task.isCancelled { return true }
                    state.waiting.append(continuation)
                    return false
                }
                if isCancelled { continuation.resume() }
            }
        } onCancel: {
            let waiting = state.withLock { state in
                defer { state.waiting = [] }
                return state.waiting
            }
            for continuation in waiting { continuation.resume() }
        }
    }
}

// MARK: A party

/// A connection under test, with a client that calls the peer and an oracle that counts how its calls end.
final class Party {
    let loop: ManualLoop
    private(set) weak var watched: Connection?
    private(set) var connection: Connection?
    let counts = Counts()

    final class Counts: Sendable {
        let begun = Atomic<Int>(0)
        let ended = Atomic<Int>(0)

        func attempt(_ body: () async throws -> Void) async {
            begun.add(1, ordering: .relaxed)
            try? await body()
            ended.add(1, ordering: .relaxed)
        }
    }

    init(_ endpoint: ChannelEndpoint, on loop: ManualLoop, isInitiator: Bool, queue: Int) throws {
        self.loop = loop
        var configuration = Connection.Configuration()
        configuration.loop = loop
        configuration.programName = "fuzz"
        configuration.errorTypes = [FuzzError.self]
        configuration.limits.queuedCalls = queue
        configuration.limits.runningCalls = queue
        configuration.limits.references = 64
        // Small, so that a length alone cannot look like a leak.
        configuration.limits.message = 1 << 20
        let connection = try Connection.make(endpoint, configuration, isInitiator: isInitiator)
        connection.vend(FuzzDirectory())
        self.connection = connection
        watched = connection
        connection.begin()
        Self.start(connection, counts, loop)
    }

    private static func start(_ connection: Connection, _ counts: Counts, _ loop: ManualLoop) {
        Task(executorPreference: loop) { await call(connection, counts, loop) }
    }

    @concurrent private static func call(_ connection: Connection, _ counts: Counts, _ loop: ManualLoop) async {
        await counts.attempt {
            try await connection.handshake()
            let root = try await connection.root
            await counts.attempt { let _: Int = try await root.echo(7) }
            // A task of its own does not inherit the loop.
            Task(executorPreference: loop) {
                await counts.attempt { try await root.message("wait").call(deadline: .seconds(2)) }
            }
            await counts.attempt { try await root.note.oneWay(3) }
            await counts.attempt { try await root.fail("why") }
            await counts.attempt {
                let given: DistantObject = try await root.give()
                let _: Int = try await given.tell(FuzzDirectory(), 5)
                let back: DistantObject? = try await root.keep(FuzzDirectory())
                _ = back == given
                let _: Bool = try await given.own(given)
            }
            let cancelled = Task(executorPreference: loop) { await counts.attempt { try await root.wait() } }
            await counts.attempt {
                let node = FuzzNode("a", [FuzzNode("b"), FuzzNode("c")])
                let _: FuzzNode = try await root.node(node)
                let _: ByCopy<FuzzNode> = try await root.copy(ByCopy(node))
            }
            cancelled.cancel()
            await counts.attempt {
                let _: [UInt8] = try await root.bytes([UInt8](repeating: 7, count: 70_000))
            }
            await counts.attempt { try await connection.barrier() }
            await counts.attempt { try await connection.ping() }
            await counts.attempt { let _: Int = try await root.think(3) }
        }
    }

    func close() {
        guard let connection else { return }
        Task(executorPreference: loop) { await connection.close(within: .seconds(1)) }
    }

    func invalidate() { connection?.invalidate() }

    /// After the end of the stream: nothing waits, nothing is left.
    func check() {
        guard let connection else { return }
        require(connection.life.withLock { $0.end != nil }, "the connection has not ended")
        require(connection.statistics.isAtRest, "something is left: \(connection.statistics)")
        require(
            counts.begun.load(ordering: .relaxed) == counts.ended.load(ordering: .relaxed), "a call has not ended")
        self.connection = nil
    }
}

func require(_ condition: Bool, _ sentence: @autoclosure () -> String) {
    if !condition { fatalError(sentence()) }
}

// MARK: The peer

/// The bare end of a memory link: what is written there arrives as it is.
struct RawEnd {
    let end: MemoryLink.End

    init(_ endpoint: ChannelEndpoint) {
        guard case .memory(let end)? = endpoint.take() else { fatalError("not a memory link") }
        self.end = end
    }

    /// - Returns: How many bytes there was room for.
    func write(_ bytes: UnsafeRawBufferPointer) -> Int {
        guard !bytes.isEmpty else { return 0 }
        var vector = iovec(iov_base: UnsafeMutableRawPointer(mutating: bytes.baseAddress), iov_len: bytes.count)
        return max(0, end.write(&vector, 1))
    }

    func read() -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: 65_536) { buffer, count in
            var vector = iovec(iov_base: buffer.baseAddress, iov_len: buffer.count)
            count = max(0, end.read(&vector, 1))
        }
    }
}

/// What an input says: how the run goes, and the peer's stream.
struct Plan {
    var isInitiator: Bool
    /// Bytes arrive split and merged at random.
    var isSplit: Bool
    var queue: Int
    /// Time passes before the stream ends.
    var waits: Bool
    /// This side closes, or cuts the connection, in the middle.
    var closes: Bool
    var cuts: Bool
    /// What arrives together.
    var pieces: [[UInt8]]

    private enum Form {
        /// Whatever the input is.
        case raw
        /// A correct greeting, then whatever the input is.
        case greeted
        /// A correct greeting, then frames with correct lengths.
        case framed
    }

    init(_ input: UnsafeRawBufferPointer) {
        let first = input[0]
        let second = input[1]
        isInitiator = first & 1 != 0
        isSplit = first & 8 != 0
        queue = first & 16 != 0 ? 1 : 64
        waits = first & 32 != 0
        closes = second & 3 == 1
        cuts = second & 3 == 2
        let rest = input[2...]
        let form: Form = first & 6 == 0 ? .raw : first & 6 == 2 ? .greeted : .framed
        pieces = form == .raw ? [] : [Self.frame(1, 0, Self.hello)]
        guard form == .framed else {
            pieces.append(Array(rest))
            return
        }
        var reader = rest[...]
        while let header = reader.popFirst(6) {
            let length = Int(header[2]) | Int(header[3]) << 8
            let body = reader.popFirst(min(length, reader.count)) ?? []
            pieces.append(Self.frame(header[0], header[1], Self.body(header, body)))
        }
    }

    /// Six bytes say what a frame is: kind, flags, length (2), and for an opener or continuation the bulk length or the
    /// opener's number (2).
    private static func body(_ header: [UInt8], _ body: [UInt8]) -> [UInt8] {
        guard header[0] == 0xFF || header[1] & 0x80 != 0 else { return body }
        return [header[4], header[5], 0, 0, 0, 0, 0, 0] + body
    }

    static func frame(_ kind: UInt8, _ flags: UInt8, _ body: [UInt8]) -> [UInt8] {
        (0..<4).map { UInt8(truncatingIfNeeded: body.count >> (8 * $0)) } + [kind, flags, 0, 0] + body
    }

    /// Takes up to a mebibyte in a message, and 200 calls.
    static let hello: [UInt8] = [0x44, 0x4F, 0x42, 0x4A, 1, 0, 0xC8, 1, 0xC8, 1, 0x80, 0x80, 0x40, 1, 0x78]

    /// The input that gives these frames.
    static func input(frames: [(kind: UInt8, flags: UInt8, body: [UInt8])], isInitiator: Bool, second: UInt8) -> [UInt8]
    {
        var bytes: [UInt8] = [isInitiator ? 5 : 4, second]
        for frame in frames {
            var body = frame.body
            var extra: [UInt8] = [0, 0]
            if frame.kind == 0xFF || frame.flags & 0x80 != 0, body.count >= 8 {
                extra = Array(body[..<2])
                body.removeFirst(8)
            }
            bytes += [frame.kind, frame.flags, UInt8(body.count & 0xFF), UInt8(body.count >> 8 & 0xFF)] + extra + body
        }
        return bytes
    }
}

extension Slice where Base == UnsafeRawBufferPointer {
    mutating func popFirst(_ count: Int) -> [UInt8]? {
        guard self.count >= count else { return nil }
        defer { self = self[(startIndex + count)...] }
        return Array(self.prefix(count))
    }
}

// MARK: Running

/// What libFuzzer calls with each input.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzConnection(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    guard count >= 2 else { return 0 }
    let plan = Plan(UnsafeRawBufferPointer(start: start, count: count))
    guard let party = run(plan) else { return 0 }
    require(party.watched == nil, "the connection is still there")
    let left = living.load(ordering: .relaxed)
    require(left == 0, "\(left) objects are still there")
    return 0
}

private func run(_ plan: Plan) -> Party? {
    let loop = ManualLoop(seed: plan.isSplit ? 1 : nil)
    let (near, far) = MemoryLink.pair(seed: plan.isSplit ? 2 : nil, capacity: 1 << 17)
    guard let party = try? Party(near, on: loop, isInitiator: plan.isInitiator, queue: plan.queue) else { return nil }
    let peer = RawEnd(far)
    for (index, piece) in plan.pieces.enumerated() {
        if index == plan.pieces.count / 2 {
            if plan.closes { party.close() }
            if plan.cuts { party.invalidate() }
        }
        feed(piece, to: peer, loop)
    }
    settle(peer, loop)
    if plan.waits { loop.advance(by: .seconds(3)) }
    settle(peer, loop)
    peer.end.finishWriting()
    settle(peer, loop)
    peer.end.close()
    settle(peer, loop)
    loop.advance(by: .seconds(10))
    party.check()
    settle(peer, loop)
    return party
}

private func feed(_ bytes: [UInt8], to peer: RawEnd, _ loop: ManualLoop) {
    bytes.withUnsafeBytes { bytes in
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = peer.write(UnsafeRawBufferPointer(rebasing: rest))
            rest = rest.dropFirst(count)
            settle(peer, loop)
            // The connection takes nothing more.
            if count == 0 { return }
        }
    }
}

/// Runs what can run, and reads what the connection has to say.
private func settle(_ peer: RawEnd, _ loop: ManualLoop) {
    repeat { loop.runUntilIdle() } while !peer.read().isEmpty
    loop.runUntilIdle()
}

// MARK: Seeds

/// Two real parties that talk to each other, each heard through its own link: inputs to begin from.
private func recordSeeds() -> [[UInt8]] {
    let loop = ManualLoop()
    let (near, first) = MemoryLink.pair(capacity: 1 << 20)
    let (distant, second) = MemoryLink.pair(capacity: 1 << 20)
    guard let one = try? Party(near, on: loop, isInitiator: true, queue: 64),
        let other = try? Party(distant, on: loop, isInitiator: false, queue: 64)
    else { return [] }
    let ends = [RawEnd(first), RawEnd(second)]
    var heard: [[UInt8]] = [[], []]
    func relay() {
        var isQuiet = false
        while !isQuiet {
            isQuiet = true
            loop.runUntilIdle()
            for side in 0..<2 {
                let bytes = ends[side].read()
                guard !bytes.isEmpty else { continue }
                isQuiet = false
                heard[side] += bytes
                _ = bytes.withUnsafeBytes { ends[1 - side].write($0) }
            }
        }
    }
    relay()
    loop.advance(by: .seconds(3))
    relay()
    one.close()
    relay()
    for end in ends { end.end.close() }
    loop.advance(by: .seconds(10))
    relay()
    one.check()
    other.check()
    var seeds: [[UInt8]] = []
    for side in 0..<2 {
        let frames = split(heard[side])
        // The peer of a recorded initiator is an acceptor.
        let isInitiator = side == 1
        let short = frames.filter { $0.body.count < 4_096 }
        for end in stride(from: 2, through: short.count, by: 4) {
            seeds.append(Plan.input(frames: Array(short[1..<end]), isInitiator: isInitiator, second: UInt8(end % 3)))
        }
        seeds.append(Plan.input(frames: Array(frames.dropFirst()), isInitiator: isInitiator, second: 0))
        seeds.append([isInitiator ? 1 : 0, 0] + heard[side].prefix(4_000))
        seeds.append([isInitiator ? 57 : 56, 0] + heard[side].prefix(4_000))
    }
    return seeds
}

private func split(_ stream: [UInt8]) -> [(kind: UInt8, flags: UInt8, body: [UInt8])] {
    var frames: [(kind: UInt8, flags: UInt8, body: [UInt8])] = []
    var rest = stream[...]
    while rest.count >= 8 {
        let header = Array(rest.prefix(8))
        let length = (0..<4).reduce(0) { $0 | Int(header[$1]) << (8 * $1) }
        frames.append((header[4], header[5], Array(rest.dropFirst(8).prefix(length))))
        rest = rest.dropFirst(8 + length)
    }
    return frames
}

/// Writes inputs to begin from, if the run is told where: `FUZZ_SEEDS=directory`.
@_cdecl("LLVMFuzzerInitialize")
public func prepareSeeds(
    _ count: UnsafeMutablePointer<CInt>,
    _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?>
) -> CInt {
    guard let directory = getenv("FUZZ_SEEDS") else { return 0 }
    for (index, seed) in recordSeeds().enumerated() {
        guard let file = fopen("\(String(cString: directory))/seed\(index)", "w") else { continue }
        fwrite(seed, 1, seed.count, file)
        fclose(file)
    }
    return 0
}
