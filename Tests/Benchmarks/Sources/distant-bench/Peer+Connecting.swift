import CFloor
import DistantObjects

extension Peer {
    /// Connections per second to a listener: each is opened, used for one call and closed before the next one.
    static func connections(to path: String, count: Int) async throws -> Double {
        let start = floorNow()
        for index in 0..<count {
            let connection = try await Connection.open(.path(path))
            let answer: Int64 = try await connection.root.null(Int64(index))
            if answer != Int64(index) + 1 { throw BenchError("\(index) was answered by \(answer)") }
            await connection.close()
        }
        return Double(count) / Double(max(floorNow() - start, 1)) * 1e9
    }
}
