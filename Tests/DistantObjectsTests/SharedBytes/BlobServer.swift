import DistantObjects
import Synchronization

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Takes and makes bytes.
final class BlobServer: Vendable {
    private let kept = Mutex<[SharedBytes]>([])

    static var messages: MessageTable<BlobServer> {
        Message("sum", BlobServer.sum)
        Message("look", BlobServer.look)
        Message("lookAt", BlobServer.lookAt)
        Message("sumOfData", BlobServer.sumOfData)
        Message("sumOfArray", BlobServer.sumOfArray)
        Message("sumOfStream", BlobServer.sumOfStream)
        Message("keep", BlobServer.keep)
        Message("keptSum", BlobServer.keptSum)
        Message("drop", BlobServer.drop)
        Message("echo", BlobServer.echo)
        Message("make", BlobServer.make)
        Message("makeData", BlobServer.makeData)
    }

    struct Picture: Codable, Sendable, Equatable {
        static func == (one: Picture, other: Picture) -> Bool {
            one.name == other.name && one.layers.map { Data($0) } == other.layers.map { Data($0) }
        }

        var name: String
        var layers: [SharedBytes]
    }

    /// What the receiver sees of bytes.
    struct Look: Codable, Sendable, Equatable {
        var sum: Int
        var isShared: Bool
    }

    static func sum(of bytes: SharedBytes) -> Int { bytes.withUnsafeBytes { $0.reduce(0) { $0 &+ Int($1) } } }

    func sum(_ bytes: SharedBytes) -> Int { Self.sum(of: bytes) }
    func look(_ bytes: SharedBytes) -> Look { Look(sum: Self.sum(of: bytes), isShared: bytes.isShared) }
    func lookAt(_ picture: Picture) async -> [Look] { picture.layers.map { look($0) } }
    func sumOfData(_ bytes: Data) -> Int { bytes.reduce(0) { $0 &+ Int($1) } }
    func sumOfArray(_ bytes: [UInt8]) -> Int { bytes.reduce(0) { $0 &+ Int($1) } }

    func sumOfStream(_ stream: DistantStream<SharedBytes>) async throws -> Int {
        var sum = 0
        for try await bytes in stream { sum &+= Self.sum(of: bytes) }
        return sum
    }

    func keep(_ bytes: SharedBytes) { kept.withLock { $0.append(bytes) } }
    func keptSum() -> Int { kept.withLock { $0.reduce(0) { $0 &+ Self.sum(of: $1) } } }

    func drop() {
        let dropped = kept.withLock { kept in
            defer { kept = [] }
            return kept
        }
        withExtendedLifetime(dropped) {}
    }

    func echo(_ bytes: SharedBytes) -> SharedBytes { bytes }

    /// Bytes in memory of the connection.
    func make(_ count: Int, _ byte: Int) throws -> SharedBytes {
        guard let connection = Connection.current else { return SharedBytes(Data()) }
        return try connection.filled(count, UInt8(byte))
    }

    func makeData(_ count: Int, _ byte: Int) -> Data { Data(repeating: UInt8(byte), count: count) }
}

extension Connection {
    /// Bytes that all have one value.
    func filled(_ count: Int, _ byte: UInt8) throws -> SharedBytes {
        try withBlob(byteCount: count) { _ = $0.initializeMemory(as: UInt8.self, repeating: byte) }
    }
}
