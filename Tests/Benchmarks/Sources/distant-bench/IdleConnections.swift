import CFloor
import DistantObjects

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Many idle connections between two processes.
struct IdleConnections {
    let peer: Peer

    /// The bytes of memory for each of `count` connections, both ends together.
    ///
    /// Each connection has made one call, to include what it sets up on first use.
    func bytesEach(count: Int) async throws -> Double {
        let available = floorRaiseDescriptorLimit()
        if available < UInt64(count) + 100 {
            throw BenchError("\(count) connections need more open descriptors than the \(available) allowed here")
        }
        let place = try SocketPlace()
        defer { withExtendedLifetime(place) {} }
        let path = place.path
        let _: Void = try await peer.bench.listen(path)

        // The first connections set up what all connections of a process share.
        let first = try await connect(to: path, count: 100)
        let before = try await residentBytes()
        let idle = try await connect(to: path, count: count)
        let after = try await residentBytes()
        let held: Int64 = try await peer.bench.heldConnections()
        let _: Void = try await peer.bench.letGo()
        for connection in first + idle { connection.invalidate() }
        if held != Int64(first.count + idle.count) {
            throw BenchError("the other side holds \(held) connections, not \(first.count + idle.count)")
        }
        return Double(after - before) / Double(count)
    }

    private func connect(to path: String, count: Int) async throws -> [Connection] {
        var connections: [Connection] = []
        connections.reserveCapacity(count)
        for _ in 0..<count {
            let connection = try await Connection.open(.path(path))
            let bench = try await connection.root
            let _: Int64 = try await bench.null(1)
            connections.append(connection)
        }
        return connections
    }

    private func residentBytes() async throws -> Int64 {
        let other: Int64 = try await peer.bench.residentBytes()
        return other + Int64(floorResidentBytes())
    }
}
