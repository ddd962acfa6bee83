import DistantObjects
import KeyedArchive
import TestSupport
import Testing

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

@Suite("Shared bytes", .bounded())
struct SharedBytesTests {
    private static let content = Data((0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 7) })

    @Test("They are read by position, in parts, and as copies", arguments: [0, 5, 100_000])
    func reading(count: Int) {
        let bytes = SharedBytes(Self.content.prefix(count))
        #expect(bytes.count == count && bytes.isEmpty == (count == 0) && !bytes.isShared)
        #expect(Data(bytes) == Self.content.prefix(count) && [UInt8](bytes) == Array(Self.content.prefix(count)))
        guard count > 3 else { return }
        let part = bytes[1..<4]
        #expect(part.count == 3 && part[0] == 7 && part[2] == 21 && Data(part[1..<2]) == Data([14]))
        #expect("\(part)" == "SharedBytes(3 bytes)")
        struct Stop: Error {}
        #expect(throws: Stop.self) { try part.withUnsafeBytes { _ throws(Stop) in throw Stop() } }
    }

    @Test("In archives of every format they are the same value as a Data", arguments: [3, 100_000])
    func archivesInSharedBytes(count: Int) throws {
        let data = Self.content.prefix(count)
        for format in [ArchiveFormat.compact, .binary, .xml] {
            let archive = try KeyedArchiver.archive(SharedBytes(data), format: format)
            #expect(archive == (try KeyedArchiver.archive(Data(data), format: format)))
            #expect(Data(try KeyedUnarchiver.unarchive(SharedBytes.self, from: archive)) == data)
        }
        let picture = BlobServer.Picture(name: "a", layers: [SharedBytes(data), SharedBytes(Data())])
        let archive = try KeyedArchiver.archive(picture)
        #expect(try KeyedUnarchiver.unarchive(BlobServer.Picture.self, from: archive) == picture)
        let json = try JSONEncoder().encode(picture)
        #expect(try JSONDecoder().decode(BlobServer.Picture.self, from: json) == picture)
    }

    enum Way: CaseIterable { case shared, pipes, notShared }

    private func pair(_ way: Way) async throws -> (Connection, Connection, DistantObject) {
        var configuration = Connection.Configuration.patient
        if way == .notShared { configuration.sharesMemory = false }
        var client = configuration
        client.busy = .always
        let (one, other) = try await Connection.pair(
            over: way == .pipes ? .pipes : .socketpair, first: client, second: configuration)
        other.vend(BlobServer())
        let root = try await one.root
        if way == .shared { while !one.isInSharedMemory || !other.isInSharedMemory { try await one.ping() } }
        return (one, other, root)
    }

    @Test("Bytes go to and fro over every transport, and are equal to a Data and an array", arguments: Way.allCases)
    func transports(_ way: Way) async throws {
        let (client, server, root) = try await pair(way)
        for count in [0, 1, 5_000, 300_000, 3_000_000] {
            for round in 0..<3 {
                let byte = UInt8(round + 1)
                let sum = count * Int(byte)
                let bytes = try client.filled(count, byte)
                for name in ["sum", "sumOfData", "sumOfArray"] {
                    let total: Int = try await root.message(name)(bytes)
                    #expect(total == sum)
                }
                let fromData: Int = try await root.sum(Data(repeating: byte, count: count))
                let fromArray: Int = try await root.sum([UInt8](repeating: byte, count: count))
                #expect(fromData == sum && fromArray == sum)
                let made: SharedBytes = try await root.make(count, Int(byte))
                let asData: Data = try await root.make(count, Int(byte))
                let asArray: [UInt8] = try await root.make(count, Int(byte))
                let ofData: SharedBytes = try await root.makeData(count, Int(byte))
                let back: SharedBytes = try await root.echo(bytes)
                #expect(
                    [made, SharedBytes(asData), ofData, back].map { BlobServer.sum(of: $0) } == [sum, sum, sum, sum])
                #expect(asArray.count == count)
            }
        }
        #expect(try client.filled(0, 1).isEmpty)
        await client.close()
        _ = await server.ended
        #expect(client.statistics.isAtRest && server.statistics.isAtRest)
    }

    @Test("Bytes that are filled only in part are zero elsewhere, whatever was in the memory before")
    func zero() async throws {
        let (client, server, root) = try await pair(.pipes)
        for _ in 0..<3 { let _: Data = try await root.makeData(3_000_000, 7) }
        let bytes = try client.withBlob(byteCount: 3_000_000) { $0[5] = 1 }
        #expect(BlobServer.sum(of: bytes) == 1)
        await client.close()
        _ = await server.ended
    }

    @Test("A size that is negative or too large is an error, and so is what the closure throws")
    func errorsInSharedBytes() async throws {
        let (client, server, _) = try await pair(.shared)
        for count in [-1, .max, (256 << 20) + 1] {
            await expectCode(.tooLarge) { _ = try client.withBlob(byteCount: count) { _ in } }
        }
        for count in [10, 1 << 20] {
            #expect(throws: CancellationError.self) {
                _ = try client.withBlob(byteCount: count) { _ in throw CancellationError() }
            }
        }
        await client.close()
        _ = await server.ended
        // It is only memory then.
        #expect(BlobServer.sum(of: try client.filled(1 << 20, 1)) == 1 << 20)
        #expect(client.statistics.isAtRest && server.statistics.isAtRest)
    }

    @Test("An object of this process gets a copy of the bytes")
    func localInSharedBytes() async throws {
        let root = DistantObject(standingFor: BlobServer())
        let sum: Int = try await root.sum(SharedBytes(Self.content))
        #expect(sum == BlobServer.sum(of: SharedBytes(Self.content)))
    }

    @Test("A promise of bytes is none, as they are no object")
    func promiseInSharedBytes() async throws {
        let (client, server, root) = try await pair(.shared)
        for _ in 0..<3 {
            let promised = root.message("make").promise(1 << 20, 1)
            await expectCode(.noObject) { let _: Int = try await promised.message("keptSum")() }
        }
        await client.close()
        _ = await server.ended
    }
}
