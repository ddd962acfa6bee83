import DistantObjects
import TestSupport
import Testing

#if canImport(FoundationEssentials)
    import FoundationEssentials
    import Glibc

    @Suite("Large messages in shared memory", .bounded())
    struct RegionUseTests {
        /// The rings of both ends, and the regions of both directions at both ends.
        private static let (rings, regions) = (2, 4)

        /// Bytes that differ from place to place, made in large pieces.
        private static func content(_ count: Int, seed: Int) -> [UInt8] {
            // 251 is prime, so that no two cuts at powers of two look alike.
            let period = (0..<251).map { UInt8(truncatingIfNeeded: ($0 &+ seed) &* 31) }
            var bytes: [UInt8] = []
            bytes.reserveCapacity(count + period.count)
            while bytes.count < count { bytes += period }
            bytes.removeLast(bytes.count - count)
            return bytes
        }

        private static func isSame(_ one: [UInt8], _ other: [UInt8]) -> Bool {
            one.count == other.count && memcmp(one, other, one.count) == 0
        }

        /// Sends so much there and back that both directions have regions.
        private static func burst(_ root: DistantObject) async throws {
            for round in 0..<6 {
                let bytes = Self.content(3_000_000 + round, seed: round)
                let back: [UInt8] = try await root.bytes(bytes)
                #expect(Self.isSame(back, bytes))
            }
        }

        /// Sends until there are regions.
        ///
        /// Those that are not used for a second are released, and that may pass on a busy machine.
        private static func burstUntilShared(_ root: DistantObject) async throws {
            repeat { try await burst(root) } while Usage.sharedMemory() != rings + regions
        }

        @Test("They go through regions, which are given back when they are not used, and at the end")
        func regions() async {
            await #expect(processExitsWith: .success) {
                let (client, server, root) = try await SharingTests.pair()
                // One is not worth a region.
                let small: [UInt8] = try await root.bytes([UInt8](repeating: 1, count: 300_000))
                #expect(small.count == 300_000)
                #expect(Usage.sharedMemory() == Self.rings)
                for _ in 0..<2 {
                    try await Self.burstUntilShared(root)
                    await eventually("the regions are released") { Usage.sharedMemory() == Self.rings }
                }
                try await Self.burstUntilShared(root)
                await SharingTests.close(client, server)
                await eventually("nothing is left") { Usage.sharedMemory() == 0 }
            }
        }

        @Test("A connection that dies leaves no region behind")
        func deathInRegionUse() async {
            await #expect(processExitsWith: .success) {
                // The first sleep of a process opens descriptors for its timer, and keeps them.
                try await Task.sleep(for: .milliseconds(1))
                var descriptors = 0
                for round in 0..<8 {
                    let (client, server, root) = try await SharingTests.pair()
                    try await Self.burst(root)
                    let calls = (0..<4).map { _ in
                        Task { try? await root.bytes([UInt8](repeating: 3, count: 5_000_000)) as [UInt8] }
                    }
                    if round % 2 == 0 { client.invalidate() } else { server.invalidate() }
                    for call in calls { _ = await call.value }
                    _ = await client.ended
                    _ = await server.ended
                    #expect(client.statistics.isAtRest && server.statistics.isAtRest)
                    await eventually("nothing is left") { Usage.sharedMemory() == 0 }
                    if round == 1 { descriptors = Usage.descriptors }
                }
                await eventually("the descriptors are closed") { Usage.descriptors <= descriptors }
            }
        }

        @Test("Messages of all sizes from several tasks keep their content, and small ones go on between them")
        func mixedInRegionUse() async throws {
            let (client, server, root) = try await SharingTests.pair()
            try await withThrowingTaskGroup(of: Void.self) { group in
                for lane in 0..<3 {
                    group.addTask {
                        for size in [5_000_000, 262_144, 262_143, 1_048_576, 1_048_570, 9_000_000, 4_194_304] {
                            let bytes = Self.content(size, seed: lane)
                            let back: [UInt8] = try await root.bytes(bytes)
                            #expect(Self.isSame(back, bytes))
                        }
                    }
                }
                group.addTask { try await SharingTests.echo(0..<300, root) }
                group.addTask { for _ in 0..<100 { try await client.ping() } }
                try await group.waitForAll()
            }
            let bytes = [UInt8](repeating: 5, count: 6_000_000)
            let back: [UInt8] = try await onThread { try root.bytes.blocking(bytes) }
            #expect(Self.isSame(back, bytes))
            await SharingTests.close(client, server)
        }

        @Test("A call that is cancelled while its pieces are under way leaves the connection usable")
        func cancelledInRegionUse() async throws {
            let (client, server, root) = try await SharingTests.pair()
            try await Self.burst(root)
            for _ in 0..<20 {
                let call = Task { try await root.bytes([UInt8](repeating: 9, count: 7_000_000)) as [UInt8] }
                await Task.yield()
                call.cancel()
                _ = try? await call.value
                try await SharingTests.echo(1..<2, root)
            }
            try await Self.burst(root)
            await SharingTests.close(client, server)
        }

        @Test("A process without free descriptors sends large messages through the ring")
        func noDescriptorsInRegionUse() async {
            await #expect(processExitsWith: .success) {
                let (client, server, root) = try await SharingTests.pair()
                Usage.exhaustDescriptors()
                try await Self.burst(root)
                // The memory is counted by a file, too.
                Usage.allowDescriptors()
                #expect(Usage.sharedMemory() == Self.rings)
                try await Self.burstUntilShared(root)
                await SharingTests.close(client, server)
            }
        }
    }
#endif
