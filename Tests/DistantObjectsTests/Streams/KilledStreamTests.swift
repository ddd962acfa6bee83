import DistantObjects
import Synchronization
import TestSupport
import Testing

#if canImport(FoundationEssentials)
    import FoundationEssentials
    import Glibc
#else
    import Foundation
#endif

/// The moment of a stream at which a process is killed.
enum StreamMoment: String, CaseIterable, Codable, Sendable {
    // Of its producer.
    case offered, firstItem, someItems, withinLargeItem, lastItem
    // Of its reader.
    case received, credited, someRead, stopped, allRead

    var isOfReader: Bool {
        switch self {
        case .offered, .firstItem, .someItems, .withinLargeItem, .lastItem: false
        case .received, .credited, .someRead, .stopped, .allRead: true
        }
    }
}

/// An object of a process that is killed while it serves a stream.
private final class Mortal: Vendable {
    static var messages: MessageTable<Mortal> {
        Message("numbers", Mortal.numbers)
        Message("read", Mortal.read)
        Message("die", Mortal.die)
    }

    private let moment: StreamMoment
    private let held = Locked<[DistantStream<[Int]>]>([])

    init(_ moment: StreamMoment) { self.moment = moment }

    func die() { kill(getpid(), SIGKILL) }

    func numbers(_ count: Int) -> DistantStream<[Int]> {
        DistantStream { [self] writer in
            for number in 0..<count {
                if moment == .firstItem, number == 1 { die() }
                if moment == .someItems, number == count / 2 {
                    // What was sent is written now, or will never be.
                    await Task.yield()
                    die()
                }
                let isLarge = moment == .withinLargeItem && number == count / 2
                try await writer.send(Array(repeating: number, count: isLarge ? 4 << 20 : 1))
                if isLarge { die() }
            }
            die()
        }
    }

    @concurrent
    func read(_ numbers: DistantStream<[Int]>) async throws {
        if moment == .received {
            held.withLock { $0.append(numbers) }
            return die()
        }
        var iterator = numbers.makeAsyncIterator()
        if moment == .credited { return die() }
        for _ in 0..<100 { _ = try await iterator.next() }
        if moment == .someRead { return die() }
        if moment == .stopped {
            iterator = DistantStream<[Int]>([]).makeAsyncIterator()
            return die()
        }
        while try await iterator.next() != nil {}
        die()
    }

    /// Connects to a process, and serves it until it is killed.
    static func live(connectedTo path: String, _ moment: StreamMoment, inSharedMemory: Bool) async throws {
        var configuration = Connection.Configuration.patient
        if inSharedMemory { configuration.busy = .always }
        let connection = try await Connection.open(.path(path), configuration: configuration)
        connection.vend(Mortal(moment))
        _ = await connection.ended
    }
}

/// Kills a process at each step of a stream, on either side of it.
@Suite("Killing a process within a stream", .serialized, .bounded())
struct KilledStreamTests {
    @Test(
        "Each operation ends once, its error says what is known, and nothing is left", arguments: StreamMoment.allCases,
        [false, true])
    func kill(_ moment: StreamMoment, inSharedMemory: Bool) async throws {
        let place = try TemporaryFolder()
        var configuration = Connection.Configuration.patient
        if inSharedMemory { configuration.busy = .always }
        let listener = try Listener(at: .path(place.socket), configuration: configuration)
        async let killed = #expect(processExitsWith: .signal(SIGKILL)) {
            [path = place.socket as String, moment = moment as StreamMoment, inSharedMemory = inSharedMemory as Bool] in
            try await Mortal.live(connectedTo: path, moment, inSharedMemory: inSharedMemory)
        }
        var connections = listener.makeAsyncIterator()
        let connection = try #require(await connections.next())
        while inSharedMemory, !connection.isInSharedMemory { try await connection.ping() }
        defer { connection.invalidate() }
        let root = try await root(of: connection)
        if moment.isOfReader { try await produce(root) } else { try await read(root, moment) }
        let end = await connection.ended
        #expect(RawPeerConnection.isLost(end), "\(end)")
        await eventually("nothing is left: \(connection.statistics)") { connection.statistics.isAtRest }
        listener.close()
        _ = await killed
    }

    /// The other side's root, which it vends once it has the connection.
    private func root(of connection: Connection) async throws -> DistantObject {
        while true {
            do { return try await connection.root } catch let error as ConnectionError where error.code == .noSuchRoot {
                await Task.yield()
            }
        }
    }

    private func read(_ root: DistantObject, _ moment: StreamMoment) async throws {
        let count = 600
        let stream: DistantStream<[Int]> = try await root.numbers(count)
        let iterating = CountedCall {
            if moment == .offered { try? await root.die() }
            var read = 0
            for try await number in stream {
                #expect(number.first == read)
                read += 1
            }
            Issue.record("the stream ended after \(read)")
        }
        await iterating.expect(.outcomeUnknown)
        await expectCode(.streamUsed) { for try await _ in stream {} }
    }

    private func produce(_ root: DistantObject) async throws {
        let (released, ended) = (Signal(), Signal())
        let guarded = Guarded(released)
        let own = DistantStream<[Int]> { writer in
            defer { withExtendedLifetime(guarded) {} }
            defer { ended.send() }
            for number in 0..<500 { try await writer.send([number]) }
        }
        let call = CountedCall { try await root.message("read")(own) }
        await call.expect(.outcomeUnknown)
        _ = await root.connection?.ended
        await expectCode(.streamUsed) { for try await _ in own {} }
        // The task, if it has started, ends once.
        #expect(ended.count <= 1)
    }
}
