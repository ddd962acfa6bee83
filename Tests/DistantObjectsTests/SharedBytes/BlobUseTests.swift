import DistantObjects
import TestSupport
import Testing

#if canImport(FoundationEssentials)
    import FoundationEssentials
    import Glibc

    /// Bytes that the receiver reads where the sender has filled them in.
    @Suite("Bytes in shared memory", .bounded())
    struct BlobUseTests {
        /// The rings of both ends, and a region at both ends.
        private static let (rings, region) = (2, 2)
        static let size = 1 << 20

        static func pair(sharedBytes: Int? = nil) async throws -> (Connection, Connection, DistantObject) {
            var first = SharingTests.always
            first.limits.sharedBytes = sharedBytes ?? first.limits.sharedBytes
            let (client, server) = try await Connection.pair(over: .socketpair, first: first, second: .patient)
            server.vend(BlobServer())
            let root = try await client.root
            while !client.isInSharedMemory || !server.isInSharedMemory { try await client.ping() }
            return (client, server, root)
        }

        /// Sends bytes until they are shared, since nothing waits for the memory to be mapped.
        @discardableResult
        static func settle(_ client: Connection, _ root: DistantObject, _ count: Int = size) async throws -> SharedBytes
        {
            let deadline = ContinuousClock.now + TestTimeout.wait
            var bytes = try client.filled(count, 1)
            while ContinuousClock.now < deadline {
                // The peer does not take offers at once when it has begun to share memory.
                if !bytes.isShared { bytes = try client.filled(count, 1) }
                // Not all of them, of which the transport would make a region.
                let look: BlobServer.Look = try await root.look(bytes[0..<5_000])
                #expect(look.sum == 5_000)
                if look.isShared { return bytes }
            }
            Issue.record("the memory is not shared")
            return bytes
        }

        /// Fills bytes in and has the peer look at them, until it sees them in shared memory.
        ///
        /// If the machine stands still for a second or two, idle memory is given back, and the next bytes go as data.
        private static func share(
            _ client: Connection, _ count: Int, _ byte: UInt8, _ look: (SharedBytes) async throws -> BlobServer.Look
        ) async throws -> SharedBytes {
            let deadline = ContinuousClock.now + TestTimeout.wait
            while true {
                let bytes = try client.filled(count, byte)
                let seen = try await look(bytes)
                #expect(seen.sum == count * Int(byte))
                if seen.isShared { return bytes }
                guard ContinuousClock.now < deadline else {
                    Issue.record("the bytes are not shared")
                    return bytes
                }
            }
        }

        @Test("They are filled and read in place, and the memory is used again and then given back")
        func inPlace() async {
            await #expect(processExitsWith: .success) {
                let (client, server, root) = try await Self.pair()
                try await Self.settle(client, root)
                var others: [Int] = []
                for round in 0..<50 {
                    let count = Self.size - round
                    let bytes = try await Self.share(client, count, UInt8(round)) { try await root.look($0) }
                    // What the method held was given back before its answer came. While the bytes are held, theirs is the
                    // only region: that of the round before is free, and so was used again. On a busy machine a thread that has
                    // given them on may still hold them.
                    let memory = Usage.sharedMemory()
                    if memory != Self.rings + Self.region { others.append(memory) }
                    withExtendedLifetime(bytes) {}
                }
                #expect(others.count < 10, "\(others)")
                for round in 0..<50 {
                    let bytes = try await Self.share(client, Self.size, UInt8(round)) { bytes in
                        try await onThread { try root.look.blocking(bytes) }
                    }
                    // The threads of earlier rounds let go of their bytes when they run next.
                    await eventually("the memory of earlier rounds is free") {
                        Usage.sharedMemory() <= Self.rings + 2 * Self.region
                    }
                    withExtendedLifetime(bytes) {}
                }
                await eventually("the memory is given back") { Usage.sharedMemory() == Self.rings }
                try await Self.settle(client, root)
                await SharingTests.close(client, server)
                await eventually("nothing is left") { Usage.sharedMemory() == 0 }
            }
        }

        @Test("Bytes that one side still holds are not overwritten, and the next ones go elsewhere")
        func heldInBlobUse() async throws {
            let (client, server, root) = try await Self.pair()
            try await Self.settle(client, root)
            for byte in 1...5 { try await root.keep(try client.filled(Self.size, UInt8(byte))) as Void }
            let mine = try client.filled(Self.size, 6)
            let sum: Int = try await root.keptSum()
            #expect(sum == 15 * Self.size && BlobServer.sum(of: mine) == 6 * Self.size)
            #expect(client.statistics.blobs > 1 && server.statistics.blobs > 0)
            try await root.drop() as Void
            withExtendedLifetime(mine) {}
            await eventually("nothing is held") { server.statistics.blobs == 0 }
            await SharingTests.close(client, server)
        }

        @Test("More than the limit at a time are sent as data")
        func tooMuchInBlobUse() async throws {
            let (client, server, root) = try await Self.pair(sharedBytes: 64 << 20)
            let size = 33 << 20
            let first = try await Self.settle(client, root, size)
            let second = try client.filled(size, 1)
            #expect(first.isShared && !second.isShared)
            let look: BlobServer.Look = try await root.look(second)
            #expect(look == BlobServer.Look(sum: size, isShared: false))
            await SharingTests.close(client, server)
        }

        @Test("They go in structures, results and streams, in parts, and back to where they came from")
        func everywhere() async throws {
            let (client, server, root) = try await Self.pair()
            let bytes = try await Self.settle(client, root)
            let small = SharedBytes(Data([1, 2]))
            let picture = BlobServer.Picture(name: "a", layers: [bytes, bytes[10..<20], small, bytes[5..<10_005]])
            let looks: [BlobServer.Look] = try await root.lookAt(picture)
            #expect(looks.map(\.sum) == [Self.size, 10, 3, 10_000])
            #expect(looks.map(\.isShared) == [true, false, false, true])
            let sum: Int = try await root.sumOfStream(DistantStream(repeatElement(bytes, count: 20)))
            #expect(sum == 20 * Self.size)
            let data: Int = try await root.sumOfData(bytes)
            let array: Int = try await root.sumOfArray(bytes)
            #expect(data == Self.size && array == Self.size)
            let back: SharedBytes = try await root.echo(bytes[4_096..<50_000])
            #expect(back.isShared && BlobServer.sum(of: back) == 45_904)
            var made: SharedBytes = try await root.make(Self.size, 2)
            let deadline = ContinuousClock.now + TestTimeout.wait
            while !made.isShared, ContinuousClock.now < deadline { made = try await root.make(Self.size, 2) }
            #expect(made.isShared && BlobServer.sum(of: made) == 2 * Self.size)
            // What came from the peer may be sent back to it, too.
            let look: BlobServer.Look = try await root.look(made)
            #expect(look == BlobServer.Look(sum: 2 * Self.size, isShared: true))
            await SharingTests.close(client, server)
        }

        @Test("Over another connection they are copied")
        func otherInBlobUse() async throws {
            let (client, server, root) = try await Self.pair()
            let (second, third, other) = try await Self.pair()
            let bytes = try await Self.settle(client, root)
            // Into a region of that connection if one is free, else into the message.
            let look: BlobServer.Look = try await other.look(bytes)
            #expect(look.sum == Self.size)
            await SharingTests.close(client, server)
            await SharingTests.close(second, third)
        }

        @Test("What a process has received outlives the connection, and is unmapped when it is let go")
        func outlives() async {
            await #expect(processExitsWith: .success) {
                for round in 0..<4 {
                    let (client, server, root) = try await Self.pair()
                    var bytes: SharedBytes? = try await Self.settle(client, root)
                    var made: SharedBytes? = try await root.make(Self.size, 2)
                    for _ in 0..<100 where made?.isShared == false { made = try await root.make(Self.size, 2) }
                    if round % 2 == 0 { client.invalidate() } else { server.invalidate() }
                    _ = await client.ended
                    _ = await server.ended
                    #expect(client.statistics.isAtRest && server.statistics.isAtRest)
                    #expect(made.map { BlobServer.sum(of: $0) } == 2 * Self.size)
                    #expect(bytes.map { BlobServer.sum(of: $0) } == Self.size)
                    (bytes, made) = (nil, nil)
                    await eventually("nothing is left") { Usage.sharedMemory() == 0 }
                }
            }
        }

        @Test("Several tasks send bytes at a time, and each gets its own")
        func mixedInBlobUse() async throws {
            let (client, server, root) = try await Self.pair()
            try await withThrowingTaskGroup(of: Void.self) { group in
                for lane in 1...4 {
                    group.addTask {
                        for round in 0..<40 {
                            let count = (256 << 10) + lane * 100_000 + round
                            let sum: Int = try await root.sum(try client.filled(count, UInt8(lane)))
                            #expect(sum == count * lane)
                        }
                    }
                }
                group.addTask { for _ in 0..<100 { try await client.ping() } }
                for _ in 0..<2 {
                    group.addTask {
                        for round in 1..<40 {
                            let made: SharedBytes = try await root.make(300_000 + round, round)
                            #expect(BlobServer.sum(of: made) == (300_000 + round) * round)
                        }
                    }
                }
                try await group.waitForAll()
            }
            await eventually("nothing is held") { server.statistics.blobs + client.statistics.blobs == 0 }
            await SharingTests.close(client, server)
        }

        @Test("A process without free descriptors sends the bytes as data")
        func noDescriptorsInBlobUse() async {
            await #expect(processExitsWith: .success) {
                let (client, server, root) = try await Self.pair()
                // Each side has closed what the switch to shared memory brought before it answers.
                try await client.ping()
                try await server.ping()
                Usage.exhaustDescriptors()
                for byte in 1..<4 {
                    let look: BlobServer.Look = try await root.look(try client.filled(Self.size, UInt8(byte)))
                    #expect(look == BlobServer.Look(sum: Self.size * byte, isShared: false))
                }
                Usage.allowDescriptors()
                #expect(Usage.sharedMemory() == Self.rings)
                await SharingTests.close(client, server)
            }
        }

        @Test("A peer that knows no such memory gets the bytes as data")
        func olderInBlobUse() async throws {
            let peer = try await RegionPeer(features: 3)
            let root = try await SharingAbuseTests.root(of: peer.taker)
            let bytes = try peer.taker.connection.filled(Self.size, 1)
            #expect(!bytes.isShared)
            withExtendedLifetime(root) {}
            peer.taker.raw.close()
            _ = await peer.taker.connection.ended
            peer.taker.close()
        }
    }
#endif
