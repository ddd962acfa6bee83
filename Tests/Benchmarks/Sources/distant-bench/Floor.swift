import CFloor

/// Bare system calls over one transport, with their own second process.
///
/// In free placement each side keeps to a core of its own. Left to the system, the two sides land on one core in some
/// rounds and on two in others, which differ by a factor of five: nothing to compare with.
final class Floor {
    private var peer = FloorPeer()
    private let isApart: Bool

    init(_ transport: FloorTransport, _ cores: Cores, executable: String) throws {
        isApart = cores != .one
        let error = floorStart(executable, transport, isApart ? floorLastCore() : -1, &peer)
        if error != 0 { throw BenchError("the floor's process could not be started: \(describe(error))") }
    }

    deinit {
        floorStop(&peer)
    }

    /// Microseconds of one round trip, or of two nested ones.
    func ping(nested: Bool = false, count: Int) throws -> Double {
        var times = [UInt64](repeating: 0, count: count)
        try check { floorPing(&peer, nested ? 1 : 0, &times, count) }
        return medianMicroseconds(times)
    }

    /// Microseconds of one round trip through words in shared memory.
    func pingWords(count: Int) throws -> Double {
        var times = [UInt64](repeating: 0, count: count)
        try check { floorPingWords(&peer, &times, count) }
        return medianMicroseconds(times)
    }

    /// Round trips per second.
    func inFlight(window: Int, count: Int) throws -> Double {
        try rate(count) { floorInFlight(&peer, window, count, &$0) }
    }

    /// Messages per second.
    func oneWay(count: Int) throws -> Double {
        try rate(count) { floorOneWay(&peer, count, &$0) }
    }

    /// Gigabytes per second.
    ///
    /// - Parameter touches: Whether the bytes are filled in each time, and all looked at by the other side.
    func blob(length: Int, count: Int, touches: Bool = false) throws -> Double {
        try rate(length * count) { floorBlob(&peer, length, count, touches ? 1 : 0, &$0) } / 1e9
    }

    /// Connections per second, each made, used once and closed before the next one.
    func connect(count: Int) throws -> Double {
        let place = try SocketPlace()
        return try rate(count) { floorConnect(&peer, place.path, count, &$0) }
    }

    /// Microseconds from launching a process to its first answer.
    static func startup(executable: String, count: Int) throws -> Double {
        var times: [UInt64] = []
        for _ in 0..<count {
            let start = floorNow()
            let floor = try Floor(FloorSocket, .one, executable: executable)
            _ = try floor.ping(count: 1)
            times.append(floorNow() - start)
        }
        return medianMicroseconds(times)
    }

    private func rate(_ count: Int, _ body: (inout UInt64) -> CInt) throws -> Double {
        var nanoseconds: UInt64 = 0
        try check { body(&nanoseconds) }
        return Double(count) / Double(max(nanoseconds, 1)) * 1e9
    }

    private func check(_ body: () -> CInt) throws {
        if isApart { _ = floorPinThread(floorFirstCore()) }
        defer { if isApart { _ = floorPinThread(-1) } }
        let error = body()
        if error != 0 { throw BenchError("the floor's other process failed: \(describe(error))") }
    }
}
