import CPortShims
import DistantObjects
import DistantTesting
import Synchronization
import TestSupport
import Testing

#if canImport(FoundationEssentials)
    import FoundationEssentials
    import Glibc
#else
    import Foundation
#endif

/// The ways to connect two ends.
enum TransportKind: String, CaseIterable, Sendable, CustomTestStringConvertible {
    case path, socketpair, pipes, inheritedSocket, inheritedPipes, memory, splittingMemory

    var testDescription: String { rawValue }

    /// Two connected ends.
    ///
    /// The second one vends a `Directory`.
    func pair(_ configuration: Connection.Configuration = .patient) async throws -> Pair {
        switch self {
        case .path:
            let place = try TemporaryFolder()
            let listener = try Listener(at: .path(place.socket), configuration: configuration)
            defer { listener.stopListening() }
            async let accepted = listener.first { _ in true }
            let client = try await Connection.open(.path(place.socket), configuration: configuration)
            return Pair(client, try #require(await accepted))
        case .socketpair: return try await Pair(client: configuration, server: configuration)
        case .pipes: return try await Pair(client: configuration, server: configuration, over: .pipes)
        case .inheritedSocket:
            var ends: [CInt] = [-1, -1]
            try #require(port_socketpair(&ends) == 0)
            return try await Self.adopt((ends[0], ends[0]), (ends[1], ends[1]), configuration)
        case .inheritedPipes:
            var forth: [CInt] = [-1, -1]
            var back: [CInt] = [-1, -1]
            try #require(port_pipe(&forth) == 0 && port_pipe(&back) == 0)
            return try await Self.adopt((back[0], forth[1]), (forth[0], back[1]), configuration)
        case .memory, .splittingMemory:
            let pair = try await ConnectionPair(
                first: configuration, second: configuration, seed: self == .memory ? nil : TestSeed.next(),
                capacity: self == .memory ? 65_536 : 3_000)
            return Pair(pair.first, pair.second)
        }
    }

    private static func adopt(
        _ one: (CInt, CInt), _ other: (CInt, CInt), _ configuration: Connection.Configuration
    ) async throws -> Pair {
        async let client = RawPeerConnection.adopt(one, isInitiator: true, configuration)
        async let server = RawPeerConnection.adopt(other, isInitiator: false, configuration)
        return Pair(try await client, try await server)
    }
}

@Suite("Over every transport", .serialized, .bounded())
struct TransportTests {
    @Test("The same calls give the same results", arguments: TransportKind.allCases)
    func callsInTransport(joint: TransportKind) async throws {
        try await Self.suite(try await joint.pair())
    }

    @Test("A helper's standard streams carry the connection, and its prints do not disturb it")
    func standardStreamsInTransport() async {
        // It replaces descriptors 0 and 1 of the process.
        await #expect(processExitsWith: .success) {
            var forth: [CInt] = [-1, -1]
            var back: [CInt] = [-1, -1]
            try #require(pipe(&forth) == 0 && pipe(&back) == 0)
            try #require(dup2(forth[0], 0) == 0 && dup2(back[1], 1) == 1)
            close(forth[0])
            close(back[1])
            setenv("DISTANT_OBJECTS_CHANNEL", "stdio", 1)
            async let server = Connection.parent()
            async let client = Connection.adopt(
                reading: back[0], writing: forth[1], isInitiator: true, configuration: .patient)
            let pair = Pair(try await client, try await server)
            // In the pipe these bytes would be an invalid frame.
            print("nobody must read this as a frame")
            fflush(nil)
            try await TransportTests.suite(pair)
            #expect(getenv("DISTANT_OBJECTS_CHANNEL") == nil)
        }
    }

    @Test("A peer that is cut ends the calls under way", arguments: TransportKind.allCases)
    func cutInTransport(joint: TransportKind) async throws {
        let pair = try await joint.pair()
        let root = try await pair.client.root
        let call = CountedCall { let _: Int = try await root.hold() }
        await pair.directory.started.wait()
        pair.server.invalidate()
        await call.expect(.outcomeUnknown)
        await pair.directory.stopped.wait()
        _ = await pair.client.ended
        #expect(pair.client.statistics.isAtRest)
    }

    static func suite(_ pair: Pair) async throws {
        do {
            let root = try await pair.client.root
            // By copy, with shared references.
            let shared = Foo(name: "Juliana", age: 7)
            let bar: Bar = try await root.bar(Bar([shared, Foo(name: "Nicolas", age: 3), shared]))
            #expect(bar.foos.map(\.age) == [9, 4, 9] && bar.foos[0] === bar.foos[2])
            // By reference, with a callback, and sent back.
            let observer = Observer()
            try await root.watch(observer)
            let told: Int = try await root.tell("hello")
            #expect(told == 1)
            let home: DistantObject? = try await root.watcher()
            #expect(home?.local(as: Observer.self) === observer)
            try await root.forget()
            // Large and small messages in both directions.
            for size in [0, 60_000, 70_000, 1 << 20] {
                let bytes = (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31) }
                async let back: [UInt8] = root.bytes(bytes)
                async let small: Int = root.echo(size)
                #expect(try await back == bytes)
                #expect(try await small == size)
            }
            // Errors, one-way messages in order, deadlines, and threads without a task.
            await #expect(throws: RemoteError.self) { let _: Int = try await root.age("nobody") }
            for number in 0..<300 { try await root.note.oneWay(number) }
            try await pair.client.barrier()
            #expect(pair.directory.log.withLock { $0 } == Array(0..<300))
            await pair.callUntilDeadline(root)
            let client = pair.client
            let sum = try await onThread {
                let root = try client.blockingRoot()
                return try (0..<50).reduce(0) { sum, number in sum + (try root.echo.blocking(number) as Int) }
            }
            #expect(sum == 1_225)
            let many = try await withThrowingTaskGroup(of: Int.self) { group in
                for number in 0..<500 { group.addTask { try await root.echo(number) } }
                return try await group.reduce(0, +)
            }
            #expect(many == 500 * 499 / 2)
        }
        try await pair.rest()
        await pair.close()
    }
}
