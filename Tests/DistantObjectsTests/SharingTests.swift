import CPortShims
import DistantObjects
import PortTransport
import Synchronization
import Testing

#if canImport(FoundationEssentials)
    import FoundationEssentials
    import Glibc

    /// Connections that go over from their socket to memory shared with the other process, and peers that abuse it.
    @Suite("Shared memory", .bounded())
    struct SharingTests {
        static let always: Connection.Configuration = {
            var configuration = Connection.Configuration()
            configuration.busy = .always
            return configuration
        }()

        /// Two ends that share memory.
        static func pair(
            _ client: Connection.Configuration = always, _ server: Connection.Configuration = .init()
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

        @Test("A busy connection goes on in shared memory, a quiet one and one of pipes do not")
        func busy() async throws {
            for (transport, calls, shares) in [
                (Connection.PairTransport.socketpair, 300, true), (.socketpair, 100, false), (.pipes, 300, false),
            ] {
                var configuration = Connection.Configuration()
                // However slow this machine is.
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

        @Test("Slow traffic stays on the socket")
        func slow() async throws {
            var configuration = Self.always
            configuration.busy.nanoseconds = 0
            let (client, server) = try await Connection.pair(over: .socketpair, first: configuration)
            server.vend(Directory())
            let root = try await client.root
            try await Self.echo(0..<600, root)
            #expect(!client.isInSharedMemory)
            await Self.close(client, server)
        }

        @Test("It takes both sides to want it", arguments: [true, false])
        func unwanted(byClient: Bool) async throws {
            var client = Self.always
            var server = Connection.Configuration()
            if byClient { client.sharesMemory = false } else { server.sharesMemory = false }
            let (here, there) = try await Connection.pair(over: .socketpair, first: client, second: server)
            there.vend(Directory())
            let root = try await here.root
            try await Self.echo(0..<50, root)
            #expect(!here.isInSharedMemory)
            #expect(!there.isInSharedMemory)
            await Self.close(here, there)
        }

        @Test("Messages of every size, and both ways at once, keep their order and their bytes")
        func sizes() async throws {
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
            for number in 0..<2_000 { try await root.note.oneWay(number) }
            try await Self.echo(5..<6, root)
            await Self.close(client, server)
        }

        @Test("Large messages that are under way go on where the rest does", arguments: [1, 2, 3, 4, 5])
        func straddling(round: Int) async throws {
            var configuration = Self.always
            configuration.busy.messages = UInt64(1 << round)
            let (client, server) = try await Connection.pair(over: .socketpair, first: configuration)
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

        @Test("Both ends may be closed at any step of going over", arguments: 0..<40)
        func closing(step: Int) async throws {
            var configuration = Self.always
            configuration.busy.messages = UInt64(1 << (step % 4))
            let (client, server) = try await Connection.pair(over: .socketpair, first: configuration)
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

        @Test("Plain threads call in rows and one by one, with the loop's own traffic in between")
        func blocking() async throws {
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

        @Test("The end is noticed at once by who has just read in the loop's stead", arguments: 0..<20)
        func endAfterRow(round: Int) async throws {
            let (client, server, root) = try await Self.pair()
            try await onThread {
                for number in 0..<50 { _ = try root.echo.blocking(number) as Int }
                // In the time for which the loop still leaves the reading to the next of the row.
                if round % 2 == 0 { server.invalidate() }
            }
            if round % 2 != 0 { await client.close() }
            _ = await client.ended
            _ = await server.ended
            #expect(client.statistics.isAtRest)
            #expect(server.statistics.isAtRest)
        }

        @Test("Ends that look for bytes without sleeping find them, and go to sleep and wake again")
        func polling() async throws {
            var client = Self.always
            client.spin = .microseconds(300)
            var server = Connection.Configuration()
            server.spin = .microseconds(200)
            let (here, there, root) = try await Self.pair(client, server)
            let (other, otherServer, otherRoot) = try await Self.pair(client, server)
            for number in 0..<300 {
                try await Self.echo(number..<number + 1, root)
                try await Self.echo(number..<number + 1, otherRoot)
                // Longer than either looks.
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

        @Test("Nothing is left of connections that have shared memory, however they ended")
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
                let (descriptors, mappings) = (Usage.descriptors, Self.mappings)
                #expect(mappings == 0)
                for round in 0..<60 { try await use(round) }
                await eventually("the descriptors are closed") { Usage.descriptors <= descriptors }
                #expect(Usage.descriptors <= descriptors)
                #expect(Self.mappings == 0)
            }
        }

        /// How often memory to be shared is mapped in this process.
        static var mappings: Int {
            let maps = FileManager.default.contents(atPath: "/proc/self/maps") ?? Data()
            return String(decoding: maps, as: UTF8.self).split(separator: "\n").count { $0.contains("distant-objects") }
        }

        @Test("A process shares memory with so many peers; with the others it stays on the socket")
        func most() async {
            await #expect(processExitsWith: .success) {
                var limit = rlimit()
                getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
                limit.rlim_cur = limit.rlim_max
                setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
                var pairs: [(Connection, Connection)] = []
                for _ in 0..<300 {
                    let (client, server) = try await Connection.pair(over: .socketpair, first: Self.always)
                    server.vend(Directory())
                    try await Self.echo(0..<10, try await client.root)
                    pairs.append((client, server))
                }
                // Both ends of each are in this process.
                #expect(pairs.count { $0.0.isInSharedMemory } == 256)
                for (client, server) in pairs { await Self.close(client, server) }
                let (client, server, root) = try await Self.pair()
                try await Self.echo(0..<10, root)
                await Self.close(client, server)
            }
        }

        @Test("A process without a descriptor left goes on over the socket")
        func noDescriptors() async {
            await #expect(processExitsWith: .success) {
                let (client, server) = try await Connection.pair(over: .socketpair, first: Self.always)
                server.vend(Directory())
                var limit = rlimit()
                getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
                limit.rlim_cur = rlim_t(Usage.open.keys.max() ?? 0) + 1
                setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
                // What lies free below is taken.
                while dup(0) >= 0 {}
                let root = try await client.root
                try await Self.echo(0..<50, root)
                #expect(!client.isInSharedMemory)
                await Self.close(client, server)
            }
        }

        // MARK: Peers that break the rules

        /// A raw peer that takes part until it has what the other end made, and is the initiator.
        struct Taker: @unchecked Sendable {  // Its parts never change; the memory is anybody's anyway.
            let raw: RawPeer
            let connection: Connection
            let descriptors: [CInt]
            let memory: UnsafeMutableRawPointer
            let bell: CInt

            static let size = 4_096 + 2 * (128 << 10)

            init() async throws {
                let (raw, ours) = try Bereaved.ends(.socketpair)
                self.raw = raw
                raw.send(1, RawPeer.greeting(features: 3))
                connection = try await Bereaved.adopt(ours, isInitiator: false, Connection.Configuration())
                connection.vend(Directory())
                _ = try await onThread { raw.read() }
                raw.send(17, flags: 0, [])
                var byte = [UInt8](repeating: 0, count: 8)
                var ancillary = port_ancillary()
                let received = byte.withUnsafeMutableBytes { bytes in
                    #expect(port_wait_one(raw.descriptor, UInt32(PORT_READABLE), 20_000_000_000) > 0)
                    var vector = iovec(iov_base: bytes.baseAddress, iov_len: bytes.count)
                    return port_receive(raw.descriptor, &vector, 1, &ancillary)
                }
                #expect(received == 8 && byte == RawPeer.frame(17, flags: 1, descriptors: 3, []))
                try #require(ancillary.count == 3)
                descriptors = withUnsafeBytes(of: ancillary.descriptors) { Array($0.bindMemory(to: CInt.self)[..<3]) }
                memory = try #require(port_memory_map(descriptors[0], Self.size))
                bell = port_bell_open(descriptors[1])
                try #require(bell >= 0)
            }

            func close() {
                for descriptor in descriptors + [bell] { port_close(descriptor) }
                port_memory_unmap(memory, Self.size)
                raw.close()
            }

            /// Returns when the other side has left the socket, too.
            func awaitMove() async throws {
                let last = try await onThread { raw.read() }
                #expect(last?.kind == 17 && last?.flags == 2)
            }

            /// Says so many bytes are written, and tells.
            func say(_ written: UInt64) {
                memory.storeBytes(of: written, as: UInt64.self)
                port_bell_ring(bell)
            }
        }

        @Test("A peer whose counters make no sense is refused")
        func nonsense() async throws {
            let taker = try await Taker()
            taker.raw.send(17, flags: 2, [])
            taker.say(1 << 50)
            guard case .protocolViolation = await taker.connection.ended else {
                Issue.record("it was not refused")
                return
            }
            #expect(taker.connection.statistics.isAtRest)
            taker.close()
        }

        @Test("A peer that gives back more room than it has taken is refused")
        func nonsenseRoom() async throws {
            let taker = try await Taker()
            taker.raw.send(17, flags: 2, [])
            try await taker.awaitMove()
            let directory = try await Self.root(of: taker)
            taker.memory.storeBytes(of: 1 << 40, toByteOffset: 128 + 64, as: UInt64.self)
            // More than there is room for, so that the counter is looked at.
            await expectCode(.notSent) {
                _ = try await directory.bytes([UInt8](repeating: 1, count: 300_000)) as [UInt8]
            }
            guard case .protocolViolation = await taker.connection.ended else {
                Issue.record("it was not refused")
                return
            }
            #expect(taker.connection.statistics.isAtRest)
            taker.close()
        }

        @Test("What a peer writes into the memory obeys the rules of frames as what it sends does")
        func garbage() async throws {
            let taker = try await Taker()
            taker.raw.send(17, flags: 2, [])
            for offset in 0..<64 { taker.memory.storeBytes(of: 0xFF, toByteOffset: 4_096 + offset, as: UInt8.self) }
            taker.say(64)
            guard case .protocolViolation = await taker.connection.ended else {
                Issue.record("it was not refused")
                return
            }
            taker.close()
        }

        @Test("Bytes on the socket, after it was left, are refused", arguments: [true, false])
        func besides(atOnce: Bool) async throws {
            let taker = try await Taker()
            let (move, ping) = (RawPeer.frame(17, flags: 2, []), RawPeer.frame(11, [1]))
            if atOnce {
                taker.raw.send(move + ping)
            } else {
                taker.raw.send(move)
                try await taker.awaitMove()
                taker.raw.send(ping)
            }
            guard case .protocolViolation = await taker.connection.ended else {
                Issue.record("it was not refused")
                return
            }
            taker.close()
        }

        @Test("A peer that dies is noticed, after what it wrote last", arguments: [true, false])
        func death(writes: Bool) async throws {
            let taker = try await Taker()
            taker.raw.send(17, flags: 2, [])
            try await taker.awaitMove()
            if writes {
                // A goodbye for no reason, and nobody is told of it.
                let goodbye = RawPeer.frame(16, [0, 0, 0])
                (taker.memory + 4_096).copyMemory(from: goodbye, byteCount: goodbye.count)
                taker.memory.storeBytes(of: UInt64(goodbye.count), as: UInt64.self)
            }
            taker.raw.close()
            switch await taker.connection.ended {
            case .closedByPeer: #expect(writes)
            case .lost: #expect(!writes)
            case let other: Issue.record("\(other)")
            }
            #expect(taker.connection.statistics.isAtRest)
            taker.close()
        }

        @Test("A peer that dies behind a ring full of pieces, each of which is a read of its own, ends")
        func piecesThenDeath() async throws {
            let taker = try await Taker()
            taker.raw.send(17, flags: 2, [])
            try await taker.awaitMove()
            let count = 7_000
            let total = (0..<8).map { UInt8(truncatingIfNeeded: count >> (8 * $0)) }
            let openers = (1...17).map { length in
                let name = [0] + RawPeer.text(String(repeating: "x", count: length))
                return RawPeer.frame(2, flags: 0x80, total + RawPeer.call(name: name))
            }
            // The first read ends between a header and its byte, and so does each that follows.
            var bytes = try #require(openers.first { ((64 << 10) - $0.count) % 17 == 16 })
            // The opener is its fourth frame.
            for index in 0..<count {
                bytes += RawPeer.frame(255, flags: index == count - 1 ? 1 : 0, [4, 0, 0, 0, 0, 0, 0, 0, 7])
            }
            (taker.memory + 4_096).copyMemory(from: bytes, byteCount: bytes.count)
            taker.memory.storeBytes(of: UInt64(bytes.count), as: UInt64.self)
            // It does not ring.
            taker.raw.close()
            guard case .lost = await taker.connection.ended else {
                Issue.record("the end was not seen as a loss")
                return
            }
            #expect(taker.connection.statistics.isAtRest)
            taker.close()
        }

        @Test("A peer that never reads the memory holds up its own connection only, until it goes")
        func unread() async throws {
            let taker = try await Taker()
            let good = try await Self.pair()
            taker.raw.send(17, flags: 2, [])
            try await taker.awaitMove()
            // Calls of ours with arguments that fill the ring, and more.
            let directory = try await Self.root(of: taker)
            let calls = (0..<4).map { _ in
                Task { try await directory.bytes([UInt8](repeating: 1, count: 300_000)) as [UInt8] }
            }
            try await Self.echo(0..<100, good.2)
            taker.raw.close()
            for call in calls { await expectCode(.notSent) { _ = try await call.value } }
            _ = await taker.connection.ended
            #expect(taker.connection.statistics.isAtRest)
            await Self.close(good.0, good.1)
            taker.close()
        }

        /// A proxy of an object of the peer's, which has written nothing into the memory yet.
        static func root(of taker: Taker) async throws -> DistantObject {
            async let root = taker.connection.root
            let answer = RawPeer.frame(3, RawPeer.result(slot: 1))
            // The question is the first thing in the other ring.
            await eventually("the question is written") {
                taker.memory.load(fromByteOffset: 128, as: UInt64.self) > 0
            }
            (taker.memory + 4_096).copyMemory(from: answer, byteCount: answer.count)
            taker.say(UInt64(answer.count))
            return try await root
        }

        /// What a peer answers that was asked for memory.
        enum Gift: String, CaseIterable, Sendable {
            case nothing, twoDescriptors, files, unsealedMemory, tooMany, unclaimed, twice, moveAtOnce
        }

        @Test("A peer that gives something else is refused, one that gives nothing is not", arguments: Gift.allCases)
        func gift(_ gift: Gift) async throws {
            let (raw, ours) = try Bereaved.ends(.socketpair)
            raw.send(1, RawPeer.greeting(features: 2))
            let connection = try await Bereaved.adopt(ours, isInitiator: true, Self.always)
            _ = try await onThread { raw.read() }
            // A message from here is answered by the question for memory.
            raw.send(11, [1])
            let kinds = try await onThread { [raw.read()?.kind, raw.read()?.kind] }
            #expect(kinds.contains(17) && kinds.contains(12))
            let null = open("/dev/null", O_RDWR | O_CLOEXEC)
            let memory = port_memory_make(4_096)
            defer { for descriptor in [null, memory] { port_close(descriptor) } }
            func send(_ flags: UInt8, _ descriptors: [CInt], announced: Int? = nil) {
                var frame = RawPeer.frame(17, flags: flags, descriptors: UInt8(announced ?? descriptors.count), [])
                let sent = frame.withUnsafeMutableBytes { bytes in
                    var vector = iovec(iov_base: bytes.baseAddress, iov_len: bytes.count)
                    return port_send(raw.descriptor, &vector, 1, descriptors, CInt(descriptors.count), false)
                }
                #expect(sent == 8)
            }
            switch gift {
            case .nothing:
                send(1, [])
                raw.send(11, [2])
                let pong = try await onThread { raw.read() }
                #expect(pong?.kind == 12)
                #expect(!connection.isInSharedMemory)
                // Descriptors are thrown away again.
                raw.close()
                _ = await connection.ended
                return
            case .twoDescriptors: send(1, [null, null])
            case .files: send(1, [null, null, null])
            case .unsealedMemory: send(1, [memory, null, null])
            case .tooMany: send(1, [null, null, null, null])
            case .unclaimed: send(1, [null, null, null], announced: 2)
            case .twice:
                send(1, [])
                send(1, [])
            case .moveAtOnce: send(2, [])
            }
            guard case .protocolViolation = await connection.ended else {
                Issue.record("it was not refused")
                return
            }
            #expect(connection.statistics.isAtRest)
            raw.close()
        }
    }
#endif
