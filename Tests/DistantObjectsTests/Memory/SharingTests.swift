import CPortShims
import DistantObjects
import PortTransport
import Synchronization
import TestSupport
import Testing

#if canImport(FoundationEssentials)
    import FoundationEssentials
    import Glibc

    /// Connections that switch from their socket to shared memory.
    @Suite("Shared memory", .bounded())
    struct SharingTests {
        static let always: Connection.Configuration = {
            var configuration = Connection.Configuration.patient
            configuration.busy = .always
            return configuration
        }()

        /// Two ends that share memory.
        static func pair(
            _ client: Connection.Configuration = always, _ server: Connection.Configuration = .patient
        ) async throws -> (Connection, Connection, DistantObject) {
            let (client, other) = try await Connection.pair(over: .socketpair, first: client, second: server)
            other.vend(Directory())
            let root = try await client.root
            while !client.isInSharedMemory || !other.isInSharedMemory { let _: Int = try await root.echo(1) }
            return (client, other, root)
        }

        static func echo(_ numbers: Range<Int>, _ root: DistantObject) async throws {
            for number in numbers {
                let back: Int = try await root.echo(number)
                #expect(back == number)
            }
        }

        static func close(_ client: Connection, _ server: Connection) async {
            await client.close()
            _ = await server.ended
            #expect(client.statistics.isAtRest)
            #expect(server.statistics.isAtRest)
        }

        @Test("A busy connection switches to shared memory, but not an idle one or one over pipes")
        func busy() async throws {
            for (transport, calls, shares) in [
                (Connection.PairTransport.socketpair, 300, true), (.socketpair, 100, false), (.pipes, 300, false),
            ] {
                var configuration = Connection.Configuration.patient
                // Even on a slow machine.
                configuration.busy.nanoseconds = .max
                let (client, server) = try await Connection.pair(
                    over: transport, first: configuration, second: configuration)
                server.vend(Directory())
                let root = try await client.root
                try await Self.echo(0..<calls, root)
                #expect(client.isInSharedMemory == shares)
                #expect(server.isInSharedMemory == shares)
                await Self.close(client, server)
            }
        }

        @Test("A connection that only sends switches to shared memory, too, although few frames come back")
        func oneWayInSharing() async throws {
            var configuration = Connection.Configuration.patient
            configuration.busy.nanoseconds = .max
            let (client, server) = try await Connection.pair(
                over: .socketpair, first: configuration, second: configuration)
            server.vend(Directory())
            let root = try await client.root
            for number in 0..<3000 { try await root.echo.oneWay(number) }
            try await client.barrier()
            #expect(client.isInSharedMemory && server.isInSharedMemory)
            await Self.close(client, server)
        }

        @Test("Slow traffic stays on the socket")
        func slowInSharing() async throws {
            var configuration = Self.always
            configuration.busy.nanoseconds = 0
            let (client, server) = try await Connection.pair(over: .socketpair, first: configuration, second: .patient)
            server.vend(Directory())
            let root = try await client.root
            try await Self.echo(0..<600, root)
            #expect(!client.isInSharedMemory)
            await Self.close(client, server)
        }

        @Test("Memory is shared only if both sides enable it", arguments: [true, false])
        func unwantedInSharing(byClient: Bool) async throws {
            var client = Self.always
            var server = Connection.Configuration.patient
            if byClient { client.sharesMemory = false } else { server.sharesMemory = false }
            let (here, there) = try await Connection.pair(over: .socketpair, first: client, second: server)
            there.vend(Directory())
            let root = try await here.root
            try await Self.echo(0..<50, root)
            #expect(!here.isInSharedMemory)
            #expect(!there.isInSharedMemory)
            await Self.close(here, there)
        }

        @Test("Messages of every size in both directions keep their order and content")
        func sizesInSharing() async throws {
            let (client, server, root) = try await Self.pair()
            let mine = Directory()
            client.vend(mine)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for lane in 0..<4 {
                    group.addTask {
                        for size in [0, 1, 1_000, 40_000, 65_536, 131_072, 131_073, 1_000_000, 3] {
                            let bytes = (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ lane) }
                            let back: [UInt8] = try await root.bytes(bytes)
                            #expect(back == bytes)
                        }
                    }
                }
                try await group.waitForAll()
            }
            for number in 0..<2_000 { try await root.echo.oneWay(number) }
            try await Self.echo(5..<6, root)
            await Self.close(client, server)
        }

        @Test("Large messages under way during the switch arrive complete", arguments: [1, 2, 3, 4, 5])
        func straddling(round: Int) async throws {
            var configuration = Self.always
            configuration.busy.frames = UInt64(1 << round)
            let (client, server) = try await Connection.pair(over: .socketpair, first: configuration, second: .patient)
            server.vend(Directory())
            let root = try await client.root
            let bytes = (0..<(700_000 * round)).map { UInt8(truncatingIfNeeded: $0 &* 31) }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<2 {
                    group.addTask {
                        let back: [UInt8] = try await root.bytes(bytes)
                        #expect(back == bytes)
                    }
                }
                group.addTask { try await Self.echo(0..<100, root) }
                try await group.waitForAll()
            }
            #expect(client.isInSharedMemory)
            await Self.close(client, server)
        }

        @Test("Either end may be closed at any step of the switch", arguments: 0..<40)
        func closingInSharing(step: Int) async throws {
            var configuration = Self.always
            configuration.busy.frames = UInt64(1 << (step % 4))
            let (client, server) = try await Connection.pair(over: .socketpair, first: configuration, second: .patient)
            server.vend(Directory())
            let root = try await client.root
            let calls = Task {
                var sum = 0
                for number in 0..<100 { sum += (try? await root.echo(number) as Int) == number ? 1 : 0 }
                return sum
            }
            for _ in 0..<step / 4 { await Task.yield() }
            await (step % 3 == 0 ? client : server).close()
            _ = await client.ended
            _ = await server.ended
            _ = await calls.value
            #expect(client.statistics.isAtRest)
            #expect(server.statistics.isAtRest)
        }

        @Test("Threads make calls in a row and single ones, mixed with traffic of the loop")
        func blockingInSharing() async throws {
            let (client, server, root) = try await Self.pair()
            for round in 0..<20 {
                let sum = try await onThread {
                    var sum = 0
                    for number in 0..<(round % 7 + 1) { sum += try root.echo.blocking(number) as Int }
                    return sum
                }
                #expect(sum == (0...(round % 7)).reduce(0, +))
                try await Self.echo(round..<round + 1, root)
                let bytes = [UInt8](repeating: UInt8(round), count: 400_000)
                let back: [UInt8] = try await onThread { try root.bytes.blocking(bytes) }
                #expect(back == bytes)
            }
            await Self.close(client, server)
        }

        @Test("A thread that has just read instead of the loop notices the end at once", arguments: 0..<20)
        func endAfterRow(round: Int) async throws {
            let (client, server, root) = try await Self.pair()
            try await onThread {
                for number in 0..<50 { _ = try root.echo.blocking(number) as Int }
                // While the loop still leaves the reading to the thread's next call.
                if round % 2 == 0 { server.invalidate() }
            }
            if round % 2 != 0 { await client.close() }
            _ = await client.ended
            _ = await server.ended
            #expect(client.statistics.isAtRest)
            #expect(server.statistics.isAtRest)
        }

        @Test("Ends that poll find input, and sleep and wake again")
        func polling() async throws {
            var client = Self.always
            client.polling = .always(for: .microseconds(300))
            var server = Connection.Configuration.patient
            server.polling = .always(for: .microseconds(200))
            let (here, there, root) = try await Self.pair(client, server)
            let (other, otherServer, otherRoot) = try await Self.pair(client, server)
            for number in 0..<300 {
                try await Self.echo(number..<number + 1, root)
                try await Self.echo(number..<number + 1, otherRoot)
                // Longer than either polls.
                if number % 50 == 0 { try await Task.sleep(for: .milliseconds(2)) }
                let back: Int = try await onThread { try root.echo.blocking(number) }
                #expect(back == number)
            }
            let bytes = [UInt8](repeating: 3, count: 1_000_000)
            let back: [UInt8] = try await root.bytes(bytes)
            #expect(back == bytes)
            await Self.close(here, there)
            await Self.close(other, otherServer)
        }

        @Test("Connections with shared memory leave nothing behind, however they end")
        func leavesNothing() async {
            await #expect(processExitsWith: .success) {
                func use(_ round: Int) async throws {
                    let (client, server, root) = try await Self.pair()
                    try await Self.echo(1..<2, root)
                    switch round % 3 {
                    case 0: await client.close()
                    case 1: server.invalidate()
                    default: client.invalidate()
                    }
                    _ = await client.ended
                    _ = await server.ended
                }
                for round in 0..<6 { try await use(round) }
                // The first sleep of a process opens descriptors for its timer, and keeps them.
                try await Task.sleep(for: .milliseconds(1))
                let (descriptors, mappings) = (Usage.descriptors, Usage.sharedMemory())
                #expect(mappings == 0)
                for round in 0..<60 { try await use(round) }
                await eventually("the descriptors are closed") { Usage.descriptors <= descriptors }
                #expect(Usage.sharedMemory() == 0)
            }
        }

        @Test("A peer shares memory over a limited number of connections, and others stay on the socket")
        func mostInSharing() async {
            await #expect(processExitsWith: .success) {
                var pairs: [(Connection, Connection)] = []
                for _ in 0..<150 {
                    let (client, server) = try await Connection.pair(
                        over: .socketpair, first: Self.always, second: .patient)
                    server.vend(Directory())
                    try await Self.echo(0..<10, try await client.root)
                    pairs.append((client, server))
                }
                // Both ends of each connection are in this process, which is one peer: it has half of 512.
                #expect(pairs.count { $0.0.isInSharedMemory } == 128)
                for (client, server) in pairs { await Self.close(client, server) }
                let (client, server, root) = try await Self.pair()
                try await Self.echo(0..<10, root)
                await Self.close(client, server)
            }
        }

        @Test("A process without free descriptors stays on the socket")
        func noDescriptorsInSharing() async {
            await #expect(processExitsWith: .success) {
                let (client, server) = try await Connection.pair(
                    over: .socketpair, first: Self.always, second: .patient)
                server.vend(Directory())
                Usage.exhaustDescriptors()
                let root = try await client.root
                try await Self.echo(0..<50, root)
                #expect(!client.isInSharedMemory)
                await Self.close(client, server)
            }
        }
    }
#endif
