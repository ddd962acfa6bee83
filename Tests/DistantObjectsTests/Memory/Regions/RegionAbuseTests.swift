import CPortShims
import DistantObjects
import Synchronization
import TestSupport
import Testing

#if canImport(FoundationEssentials)
    import FoundationEssentials
    import Glibc

    /// A peer that makes regions, and says what it likes of them.
    struct RegionPeer: @unchecked Sendable {  // Its properties never change, and the memory is shared anyway.
        let taker: SharingAbuseTests.Taker

        static let size = 4 << 20
        static let pieceSize = 1 << 20
        /// The connection's answer to what is offered.
        private static let answer = 256 + 8

        init(features: UInt64 = 3) async throws {
            taker = try await SharingAbuseTests.Taker(features: features)
            taker.raw.send(17, flags: 2, [])
            try await taker.awaitMove()
            let memory = taker.memory
            await eventually("regions are taken") { Self.load(memory, Self.answer) == 1 }
        }

        private static func load(_ memory: UnsafeMutableRawPointer, _ offset: Int) -> UInt32 {
            (memory + offset).assumingMemoryBound(to: Atomic<UInt32>.self).pointee.load(ordering: .acquiring)
        }

        /// Pieces that the connection has read.
        var read: UInt32 { Self.load(taker.memory, 256) }

        func send(_ byte: UInt8, _ descriptors: [CInt] = []) {
            var byte = byte
            let sent = withUnsafeMutableBytes(of: &byte) { bytes in
                var vector = iovec(iov_base: bytes.baseAddress, iov_len: 1)
                return port_send(taker.raw.descriptor, &vector, 1, descriptors, CInt(descriptors.count), false)
            }
            #expect(sent == 1)
        }

        /// A region of its own, which it has offered; the caller unmaps it.
        func offer(awaiting answer: UInt32? = 2) async throws -> UnsafeMutableRawPointer {
            var region: UnsafeMutableRawPointer?
            let descriptor = port_region_make(Self.size, &region)
            defer { port_close(descriptor) }
            send(1, [descriptor])
            let memory = taker.memory
            if let answer { await eventually("it is taken") { Self.load(memory, Self.answer) == answer } }
            return try #require(region)
        }

        /// Writes frames at the beginning of the ring, and rings the doorbell.
        func write(_ bytes: [UInt8]) {
            (taker.memory + 4_096).copyMemory(from: bytes, byteCount: bytes.count)
            taker.say(UInt64(bytes.count))
        }

        /// A call in fragments; its opener is the fourth frame.
        static func opener(_ total: Int) -> [UInt8] {
            RawPeer.frame(2, flags: 0x80, (0..<8).map { UInt8(truncatingIfNeeded: total >> (8 * $0)) } + RawPeer.call())
        }

        static func piece(_ count: Int, isLast: Bool = false) -> [UInt8] {
            RawPeer.frame(
                255, flags: isLast ? 5 : 4,
                [4, 0, 0, 0, 0, 0, 0, 0] + (0..<4).map { UInt8(truncatingIfNeeded: count >> (8 * $0)) })
        }

        func expectRefusal() async {
            guard case .protocolViolation = await taker.connection.ended else {
                Issue.record("it was not refused")
                return
            }
            #expect(taker.connection.statistics.isAtRest)
            taker.close()
        }
    }

    private final class Flag: Sendable {
        let isSet = Atomic<Bool>(false)
    }

    @Suite("Abuse of regions", .bounded())
    struct RegionAbuseTests {
        enum Offer: CaseIterable {
            case nothing, unsealed, small, two, twice, anotherByte, releaseWithDescriptor, release, secondRelease
        }

        @Test("What is no region, or one that nobody asked for, ends the connection", arguments: Offer.allCases)
        func offersInRegionAbuse(_ offer: Offer) async throws {
            let peer = try await RegionPeer()
            let memory = port_memory_make(RegionPeer.size)
            var (region, small): (UnsafeMutableRawPointer?, UnsafeMutableRawPointer?)
            let descriptors = [port_region_make(RegionPeer.size, &region), port_region_make(4_096, &small)]
            defer {
                for descriptor in descriptors + [memory] { port_close(descriptor) }
                if let region { port_memory_unmap(region, RegionPeer.size) }
                if let small { port_memory_unmap(small, 4_096) }
            }
            switch offer {
            case .nothing: peer.send(1)
            case .unsealed: peer.send(1, [memory])
            case .small: peer.send(1, [descriptors[1]])
            case .two: peer.send(1, [descriptors[0], descriptors[0]])
            case .twice:
                peer.send(1, [descriptors[0]])
                peer.send(1, [descriptors[0]])
            case .anotherByte: peer.send(3)
            case .releaseWithDescriptor: peer.send(0, [descriptors[0]])
            case .release: peer.send(0)
            case .secondRelease:
                peer.send(1, [descriptors[0]])
                peer.send(0)
                peer.send(0)
            }
            await peer.expectRefusal()
        }

        @Test("A piece of a region that does not exist ends the connection", arguments: [false, true])
        func noRegionInRegionAbuse(released: Bool) async throws {
            let peer = try await RegionPeer()
            if released {
                port_memory_unmap(try await peer.offer(), RegionPeer.size)
                peer.send(0)
                port_memory_unmap(try await peer.offer(awaiting: 3), RegionPeer.size)
                peer.send(0)
                let memory = peer.taker.memory
                await eventually("it is unmapped") { memory.load(fromByteOffset: 264, as: UInt32.self) == 1 }
            }
            peer.write(RegionPeer.opener(300_000) + RegionPeer.piece(300_000, isLast: true))
            await peer.expectRefusal()
        }

        @Test("A peer that announces more than a region holds is refused", arguments: [false, true])
        func tooMuchInRegionAbuse(longPiece: Bool) async throws {
            let peer = try await RegionPeer()
            let region = try await peer.offer()
            defer { port_memory_unmap(region, RegionPeer.size) }
            let pieces =
                longPiece ? RegionPeer.piece(RegionPeer.pieceSize + 1) : (0..<5).flatMap { _ in RegionPeer.piece(9) }
            peer.write(RegionPeer.opener(5 << 20) + pieces)
            await peer.expectRefusal()
        }

        @Test("A message is read once, however its sender changes it meanwhile")
        func rewrittenInRegionAbuse() async throws {
            let peer = try await RegionPeer()
            let region = try await peer.offer()
            let ends = Flag()
            let place = UInt(bitPattern: region)
            async let rewriting: Void = onThread {
                var byte: UInt8 = 0
                while !ends.isSet.load(ordering: .relaxed) {
                    UnsafeMutableRawPointer(bitPattern: place)?.initializeMemory(
                        as: UInt8.self, repeating: byte, count: 4_096)
                    byte &+= 1
                }
            }
            peer.write(
                RegionPeer.opener(3_000_000) + RegionPeer.piece(1_000_000) + RegionPeer.piece(1_000_000)
                    + RegionPeer.piece(1_000_000, isLast: true))
            await eventually("it is read") { peer.read == 3 }
            // It is answered, if only with a refusal.
            await eventually("it is answered") {
                peer.taker.memory.load(fromByteOffset: 128, as: UInt64.self) > 0
            }
            ends.isSet.store(true, ordering: .relaxed)
            try await rewriting
            #expect(!peer.taker.connection.isEnded)
            port_memory_unmap(region, RegionPeer.size)
            peer.taker.raw.close()
            _ = await peer.taker.connection.ended
            #expect(peer.taker.connection.statistics.isAtRest)
            peer.taker.close()
        }
    }
#endif
