import CPortShims
import DistantObjects
import Synchronization
import TestSupport
import Testing

#if canImport(FoundationEssentials)
    import FoundationEssentials
    import Glibc

    /// Peers that break the rules of regions for blobs.
    @Suite("Abuse of bytes in shared memory", .bounded())
    struct BlobAbuseTests {
        private static let features: UInt64 = 3 | 512
        private static let size = 256 << 10

        /// A region of the peer, which the caller unmaps.
        private static func region(_ size: Int = size) throws -> (memory: UnsafeMutableRawPointer, descriptor: CInt) {
            var memory: UnsafeMutableRawPointer?
            let descriptor = port_region_make(size, &memory)
            return (try #require(memory), descriptor)
        }

        /// What the connection has written into its ring, which begins with the frames after the switch.
        private static func frames(_ peer: RegionPeer) -> [RawPeer.Frame] {
            let memory = peer.taker.memory
            let count = Int(
                (memory + 128).assumingMemoryBound(to: Atomic<UInt64>.self).pointee.load(ordering: .acquiring))
            var bytes = Array(UnsafeRawBufferPointer(start: memory + 4_096 + (128 << 10), count: count))[...]
            var frames: [RawPeer.Frame] = []
            while bytes.count >= 8 {
                let header = Array(bytes.prefix(8))
                let length = Int(header[0]) | Int(header[1]) << 8
                frames.append(
                    RawPeer.Frame(kind: header[4], flags: header[5], body: Array(bytes.dropFirst(8).prefix(length))))
                bytes = bytes.dropFirst(8 + length)
            }
            return frames
        }

        /// The flags of its frames about regions.
        private static func steps(_ peer: RegionPeer) -> [UInt8] { frames(peer).filter { $0.kind == 17 }.map(\.flags) }

        enum Offer: CaseIterable {
            case unsealed, oddSize, tooLarge, two, notAgreed
        }

        @Test("What is no region, or comes without an agreement, ends the connection", arguments: Offer.allCases)
        func offersInBlobAbuse(_ offer: Offer) async throws {
            let peer = try await RegionPeer(features: offer == .notAgreed ? 3 : Self.features)
            let size = offer == .oddSize ? 3 * 4_096 : offer == .tooLarge ? (64 << 20) + (64 << 10) : Self.size
            let (memory, descriptor) = try Self.region(size)
            let unsealed = port_memory_make(size)
            defer {
                for descriptor in [descriptor, unsealed] { port_close(descriptor) }
                port_memory_unmap(memory, size)
            }
            switch offer {
            case .unsealed: peer.send(2, [unsealed])
            case .two: peer.send(2, [descriptor, descriptor])
            case .oddSize, .tooLarge, .notAgreed: peer.send(2, [descriptor])
            }
            await peer.expectRefusal()
        }

        @Test("An offer whose descriptor could not be sent is counted, and declined")
        func noDescriptorInBlobAbuse() async throws {
            let peer = try await RegionPeer(features: Self.features)
            let (memory, descriptor) = try Self.region()
            defer {
                port_close(descriptor)
                port_memory_unmap(memory, Self.size)
            }
            peer.send(2)
            peer.send(2, [descriptor])
            await eventually("both are answered") { Self.steps(peer).count == 2 }
            #expect(Self.steps(peer) == [5, 4])
            #expect(!peer.taker.connection.isEnded)
            peer.taker.raw.close()
            _ = await peer.taker.connection.ended
            peer.taker.close()
        }

        @Test("A peer that offers any number of regions has few of them mapped")
        func flood() async {
            await #expect(processExitsWith: .success) {
                let peer = try await RegionPeer(features: Self.features)
                let before = Usage.sharedMemory()
                let (memory, descriptor) = try Self.region(64 << 10)
                for count in 1...200 {
                    peer.send(2, [descriptor])
                    await eventually("it is answered") { Self.steps(peer).count == count }
                }
                // Its own mapping is one of them.
                #expect(Usage.sharedMemory() == before + 1 + 64)
                #expect(Self.steps(peer) == [UInt8](repeating: 4, count: 64) + [UInt8](repeating: 5, count: 136))
                port_close(descriptor)
                port_memory_unmap(memory, 64 << 10)
                peer.taker.raw.close()
                _ = await peer.taker.connection.ended
                #expect(peer.taker.connection.statistics.isAtRest)
                // With the connection's own memory for frames.
                await eventually("they are unmapped") { Usage.sharedMemory() == before - 1 }
                peer.taker.close()
            }
        }

        @Test("More bytes than this process has room for are not mapped")
        func tooMuchInBlobAbuse() async {
            // In a process of its own, where no other test uses the share of this one.
            await #expect(processExitsWith: .success) {
                let peer = try await RegionPeer(features: Self.features)
                let (memory, descriptor) = try Self.region(50 << 20)
                for count in 1...3 {
                    peer.send(2, [descriptor])
                    await eventually("it is answered") { Self.steps(peer).count == count }
                }
                #expect(Self.steps(peer) == [4, 4, 5])
                port_close(descriptor)
                port_memory_unmap(memory, 50 << 20)
                peer.taker.raw.close()
                _ = await peer.taker.connection.ended
                peer.taker.close()
            }
        }

        /// A call with bytes of a region where a text belongs.
        private static func call(_ numbers: UInt64...) -> [UInt8] {
            RawPeer.frame(
                2, RawPeer.call(references: [1, 6] + numbers.flatMap { RawPeer.number($0) }, body: [0, 2, 0xD7, 0]))
        }

        @Test("Bytes of a region that does not exist end the connection", arguments: [false, true])
        func noRegionInBlobAbuse(isReleased: Bool) async throws {
            let peer = try await RegionPeer(features: Self.features)
            if isReleased {
                let (memory, descriptor) = try Self.region()
                peer.send(2, [descriptor])
                await eventually("it is taken") { Self.steps(peer) == [4] }
                port_close(descriptor)
                port_memory_unmap(memory, Self.size)
            }
            peer.write((isReleased ? RawPeer.frame(17, flags: 7, [0]) : []) + Self.call(0, 0, 10))
            await peer.expectRefusal()
        }

        @Test("Giving back what was never mentioned ends the connection")
        func givesBack() async throws {
            let peer = try await RegionPeer(features: Self.features)
            peer.write(RawPeer.frame(17, flags: 6, [0, 1]))
            await peer.expectRefusal()
        }

        @Test("Bytes of a message that is refused are given back, and may change at any time")
        func refusedInBlobAbuse() async throws {
            let peer = try await RegionPeer(features: Self.features)
            let (memory, descriptor) = try Self.region()
            peer.send(2, [descriptor])
            await eventually("it is taken") { Self.steps(peer) == [4] }
            peer.write(Self.call(0, 0, UInt64(Self.size)))
            memory.initializeMemory(as: UInt8.self, repeating: 9, count: Self.size)
            await eventually("it is given back") { Self.steps(peer) == [4, 6] }
            #expect(Self.frames(peer).contains { $0.kind == 3 && $0.flags == 2 })
            #expect(Self.frames(peer).last { $0.kind == 17 }?.body == [0, 1])
            port_close(descriptor)
            port_memory_unmap(memory, Self.size)
            peer.taker.raw.close()
            _ = await peer.taker.connection.ended
            #expect(peer.taker.connection.statistics.isAtRest)
            peer.taker.close()
        }
    }
#endif
