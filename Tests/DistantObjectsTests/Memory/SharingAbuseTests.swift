import CPortShims
import DistantObjects
import PortTransport
import Synchronization
import TestSupport
import Testing

#if canImport(FoundationEssentials)
    import FoundationEssentials
    import Glibc

    /// Peers that break the rules of shared memory.
    @Suite("Abuse of shared memory", .bounded())
    struct SharingAbuseTests {
        /// A raw peer that is the initiator and has received the memory that the other end made.
        struct Taker: @unchecked Sendable {  // Its properties never change, and the memory is shared anyway.
            let raw: RawPeer
            let connection: Connection
            let descriptors: [CInt]
            let memory: UnsafeMutableRawPointer
            let doorbell: CInt

            static let size = 4_096 + 2 * (128 << 10)

            init(features: UInt64 = 3) async throws {
                let (raw, ours) = try RawPeerConnection.ends(.socketpair)
                self.raw = raw
                raw.send(1, RawPeer.greeting(features: features))
                var configuration = Connection.Configuration.patient
                configuration.limits.sharedBytes = 64 << 20
                connection = try await RawPeerConnection.adopt(ours, isInitiator: false, configuration)
                connection.vend(Directory())
                _ = try await onThread { raw.read() }
                raw.send(17, flags: 0, [])
                #expect(try await onThread { RawPeer.awaitInput(raw.descriptor) })
                var byte = [UInt8](repeating: 0, count: 8)
                var ancillary = port_ancillary()
                let received = byte.withUnsafeMutableBytes { bytes in
                    var vector = iovec(iov_base: bytes.baseAddress, iov_len: bytes.count)
                    return port_receive(raw.descriptor, &vector, 1, &ancillary)
                }
                #expect(received == 8 && byte == RawPeer.frame(17, flags: 1, descriptors: 3, []))
                try #require(ancillary.count == 3)
                descriptors = withUnsafeBytes(of: ancillary.descriptors) { Array($0.bindMemory(to: CInt.self)[..<3]) }
                memory = try #require(port_memory_map(descriptors[0], Self.size))
                doorbell = port_doorbell_open(descriptors[1])
                try #require(doorbell >= 0)
            }

            func close() {
                for descriptor in descriptors + [doorbell] { port_close(descriptor) }
                port_memory_unmap(memory, Self.size)
                raw.close()
            }

            /// Returns when the other side has also left the socket.
            func awaitMove() async throws {
                let last = try await onThread { raw.read() }
                #expect(last?.kind == 17 && last?.flags == 2)
            }

            /// Sets the number of written bytes, and rings the doorbell.
            func say(_ written: UInt64) {
                memory.storeBytes(of: written, as: UInt64.self)
                port_doorbell_ring(doorbell)
            }
        }

        @Test("A peer with nonsensical counters is refused")
        func nonsenseInSharingAbuse() async throws {
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

        @Test("A peer that frees more room than it has read is refused")
        func nonsenseRoom() async throws {
            let taker = try await Taker()
            taker.raw.send(17, flags: 2, [])
            try await taker.awaitMove()
            let directory = try await Self.root(of: taker)
            taker.memory.storeBytes(of: 1 << 40, toByteOffset: 128 + 64, as: UInt64.self)
            // More than there is room for, so that the counter is read.
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

        @Test("A peer may say that it runs on any processor, and is answered all the same")
        func processorInSharingAbuse() async throws {
            let taker = try await Taker(features: 3 + 256)
            taker.raw.send(17, flags: 2, [])
            try await taker.awaitMove()
            var count = 0
            for processor in [1, 2, 3, 1_025, 1 << 31, UInt32.max, 0] {
                let ping = RawPeer.frame(11, [1])
                (taker.memory + 4_096 + count).copyMemory(from: ping, byteCount: ping.count)
                count += ping.count
                taker.memory.storeBytes(of: processor, toByteOffset: 12, as: UInt32.self)
                taker.say(UInt64(count))
                await eventually("the ping is answered") {
                    taker.memory.load(fromByteOffset: 128, as: UInt64.self) >= UInt64(count)
                }
            }
            taker.raw.close()
            _ = await taker.connection.ended
            taker.close()
        }

        @Test("Frames in the memory are checked by the same rules as those on the socket")
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

        @Test("Bytes on the socket after the switch to memory are refused", arguments: [true, false])
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

        @Test("The death of a peer is noticed after its last frames were read", arguments: [true, false])
        func deathInSharingAbuse(writes: Bool) async throws {
            let taker = try await Taker()
            taker.raw.send(17, flags: 2, [])
            try await taker.awaitMove()
            if writes {
                // A Goodbye without a text, and no doorbell.
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

        @Test("A peer that dies after it filled the ring with tiny fragments is noticed")
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
            // The first read ends between a header and its byte, and so does each later one.
            var bytes = try #require(openers.first { ((64 << 10) - $0.count) % 17 == 16 })
            // The opener is its fourth frame.
            for index in 0..<count {
                bytes += RawPeer.frame(255, flags: index == count - 1 ? 1 : 0, [4, 0, 0, 0, 0, 0, 0, 0, 7])
            }
            (taker.memory + 4_096).copyMemory(from: bytes, byteCount: bytes.count)
            taker.memory.storeBytes(of: UInt64(bytes.count), as: UInt64.self)
            // It does not ring the doorbell.
            taker.raw.close()
            guard case .lost = await taker.connection.ended else {
                Issue.record("the end was not seen as a loss")
                return
            }
            #expect(taker.connection.statistics.isAtRest)
            taker.close()
        }

        @Test("A peer that never reads the memory blocks only its own connection")
        func unreadInSharingAbuse() async throws {
            let taker = try await Taker()
            let good = try await SharingTests.pair()
            taker.raw.send(17, flags: 2, [])
            try await taker.awaitMove()
            // Calls with arguments that are larger than the ring and what one write holds: a write that is under way when
            // the peer goes might have sent the rest of a smaller one.
            let directory = try await Self.root(of: taker)
            let calls = (0..<4).map { _ in
                Task { try await directory.bytes([UInt8](repeating: 1, count: 900_000)) as [UInt8] }
            }
            await eventually("all are sent or wait for room") {
                taker.connection.committedCalls + taker.connection.statistics.pending == calls.count
            }
            try await SharingTests.echo(0..<100, good.2)
            taker.raw.close()
            for call in calls { await expectCode(.notSent) { _ = try await call.value } }
            _ = await taker.connection.ended
            #expect(taker.connection.statistics.isAtRest)
            await SharingTests.close(good.0, good.1)
            taker.close()
        }

        /// A proxy for an object of a peer that has written nothing into the memory yet.
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

        /// The answer of a peer that was asked for memory.
        enum Gift: String, CaseIterable, Sendable {
            case nothing, twoDescriptors, files, unsealedMemory, tooMany, unclaimed, twice, moveAtOnce
        }

        @Test(
            "A peer that sends something else than memory is refused, and one that sends none is not",
            arguments: Gift.allCases)
        func gift(_ gift: Gift) async throws {
            let (raw, ours) = try RawPeerConnection.ends(.socketpair)
            raw.send(1, RawPeer.greeting(features: 2))
            let connection = try await RawPeerConnection.adopt(ours, isInitiator: true, SharingTests.always)
            _ = try await onThread { raw.read() }
            // After a message from this side, the peer asks for memory.
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
                // Descriptors are discarded again.
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
