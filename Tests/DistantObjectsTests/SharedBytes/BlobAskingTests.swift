import DistantObjects
import TestSupport
import Testing

#if canImport(FoundationEssentials)
    import FoundationEssentials
    import Glibc

    /// How a connection comes to share memory for bytes, and for how many.
    @Suite("Asking for shared bytes", .bounded())
    struct BlobAskingTests {
        /// Two ends that share memory only when the traffic or a setting says so.
        private func pair(
            _ configure: (inout Connection.Configuration) -> Void = { _ in }
        ) async throws -> (Connection, Connection, DistantObject) {
            var configuration = Connection.Configuration.patient
            // Many frames are no reason here.
            configuration.busy.frames = 1 << 40
            configure(&configuration)
            let (client, server) = try await Connection.pair(
                over: .socketpair, first: configuration, second: configuration)
            server.vend(BlobServer())
            return (client, server, try await client.root)
        }

        private func awaitSharing(_ client: Connection, _ server: Connection) async {
            await eventually("memory is shared") { client.isInSharedMemory && server.isInSharedMemory }
        }

        private func close(_ client: Connection, _ server: Connection) async {
            await client.close()
            _ = await server.ended
            #expect(client.statistics.isAtRest && server.statistics.isAtRest)
        }

        /// Gets bytes until they are shared.
        private func untilShared(_ content: Data, _ get: () async throws -> SharedBytes) async throws {
            let deadline = ContinuousClock.now + TestTimeout.wait
            while true {
                let bytes = try await get()
                #expect(Data(bytes) == content)
                if bytes.isShared { return }
                guard ContinuousClock.now < deadline else {
                    Issue.record("the bytes are not shared")
                    return
                }
            }
        }

        enum First: CaseIterable {
            case resultOfBytes, resultOfData, argumentOfData, argumentOfArray
        }

        @Test("The first large content of either side has both share memory", arguments: First.allCases)
        func firstContent(_ first: First) async throws {
            let (client, server, root) = try await pair()
            let content = Data(repeating: 3, count: 1 << 20)
            let _: Int = try await root.sumOfData(Data(repeating: 1, count: 100_000))
            #expect(!client.isInSharedMemory && !server.isInSharedMemory)
            switch first {
            case .resultOfBytes:
                let bytes: SharedBytes = try await root.make(1 << 20, 3)
                #expect(Data(bytes) == content)
            case .resultOfData:
                let bytes: Data = try await root.makeData(1 << 20, 3)
                #expect(bytes == content)
            case .argumentOfData:
                let sum: Int = try await root.sumOfData(content)
                #expect(sum == 3 << 20)
            case .argumentOfArray:
                let sum: Int = try await root.sumOfArray([UInt8](content))
                #expect(sum == 3 << 20)
            }
            await awaitSharing(client, server)
            try await untilShared(content) { try await root.make(1 << 20, 3) }
            await close(client, server)
        }

        @Test("A setting asks at once, on the side that has opened the connection")
        func atOnceInBlobAsking() async throws {
            let (client, server, _) = try await pair { $0.sharesMemoryAtOnce = true }
            await awaitSharing(client, server)
            await close(client, server)
        }

        private static let content = Data((0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ $0 >> 11) })

        enum Kind: CaseIterable { case data, array, file, part }

        @Test("Bytes that were made without a connection are shared when they are sent", arguments: Kind.allCases)
        func withoutConnection(_ kind: Kind) async throws {
            let path = "\(FileManager.default.temporaryDirectory.path)/distant-\(getpid())-\(kind)"
            defer { unlink(path) }
            var content = Self.content
            let bytes: SharedBytes
            switch kind {
            case .data: bytes = SharedBytes(content)
            case .array: bytes = SharedBytes([UInt8](content))
            case .file:
                try content.write(to: URL(filePath: path))
                bytes = try SharedBytes(mappingFile: path)
            case .part:
                bytes = SharedBytes([UInt8](content))[5..<2_000_005]
                content = content[5..<2_000_005]
            }
            #expect(!bytes.isShared && Data(bytes) == content && [UInt8](bytes) == [UInt8](content))
            let (client, server, root) = try await pair()
            let sum = content.reduce(0) { $0 &+ Int($1) }
            let deadline = ContinuousClock.now + TestTimeout.wait
            var look = BlobServer.Look(sum: 0, isShared: false)
            while !look.isShared, ContinuousClock.now < deadline {
                look = try await root.look(bytes)
                #expect(look.sum == sum)
            }
            #expect(look.isShared)
            let back: SharedBytes = try await root.echo(bytes)
            #expect(Data(back) == content)
            await close(client, server)
        }

        @Test("A file that is empty has no bytes, and one that cannot be mapped is an error")
        func filesInBlobAsking() async throws {
            let path = "\(FileManager.default.temporaryDirectory.path)/distant-\(getpid())-empty"
            defer { unlink(path) }
            try Data().write(to: URL(filePath: path))
            #expect(try SharedBytes(mappingFile: path).isEmpty)
            for path in [path + "-missing", "/dev/null", "/"] {
                await expectCode(.transport) { _ = try SharedBytes(mappingFile: path) }
            }
        }

        @Test("A setting limits the bytes that are shared, below 64 MiB and above")
        func limit() async throws {
            let (client, server, root) = try await pair {
                $0.sharesMemoryAtOnce = true
                $0.limits.sharedBytes = 1 << 20
            }
            await awaitSharing(client, server)
            try await untilShared(Data(repeating: 1, count: 600_000)) { try await root.make(600_000, 1) }
            for _ in 0..<5 { #expect(try !client.filled(2 << 20, 1).isShared) }
            await close(client, server)

            let (large, other, otherRoot) = try await pair {
                $0.sharesMemoryAtOnce = true
                $0.limits.sharedBytes = 100 << 20
            }
            await awaitSharing(large, other)
            let content = Data(repeating: 5, count: 80 << 20)
            try await untilShared(content) { try await otherRoot.make(80 << 20, 5) }
            await close(large, other)
        }
    }
#endif
