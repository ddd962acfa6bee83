import CFloor
import DistantObjects

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A launched process with the object it vends, and the work that can be done with it.
struct Peer: Sendable {
    let connection: Connection
    let bench: DistantObject

    /// Launches this executable again as the other side.
    static func launch(_ executable: String, over transport: Transport, spins: Bool = false) async throws -> Peer {
        let connection = try await Connection.launch(
            executable,
            arguments: spins ? ["--serve", "--spin"] : ["--serve"],
            over: transport == .socket ? .socketpair : .pipes,
            configuration: configuration(spins: spins))
        return Peer(connection: connection, bench: try await connection.root)
    }

    static func configuration(spins: Bool) -> Connection.Configuration {
        var configuration = Connection.Configuration()
        // Longer than any answer takes here: neither side sleeps during a measurement.
        if spins { configuration.polling = .always(for: .milliseconds(1)) }
        return configuration
    }

    /// Takes one sample of `subject`.
    func sample(_ subject: Subject, _ api: API) async throws -> Double {
        switch api {
        case .run: return try await connection.run { try await subject.suspending() }
        case .task: return try await Task.detached { try await subject.suspending() }.value
        case .blocking:
            guard let blocking = subject.blocking else { throw BenchError("there is no blocking form of this work") }
            return try await onPlainThread(blocking)
        }
    }

    // MARK: Latency

    func nullCall(count: Int) -> Subject {
        let bench = bench
        return latency(
            count: count,
            suspending: { try await bench.null($0) }, blocking: { try bench.null.blocking($0) },
            expecting: { $0 + 1 })
    }

    /// Like `nullCall`, through an interface.
    func typedNullCall(count: Int) throws -> Subject {
        let bench = try Remote<BenchInterface>(bench)
        return latency(
            count: count,
            suspending: { try await bench.null($0) }, blocking: { try bench.null.blocking($0) },
            expecting: { $0 + 1 })
    }

    func callback(count: Int) -> Subject {
        let (bench, caller) = (bench, Caller())
        return latency(
            count: count,
            suspending: { try await bench.callBack(caller, $0) },
            blocking: { try bench.callBack.blocking(caller, $0) },
            expecting: { $0 + 1 })
    }

    /// - Parameter asView: Whether the other side reads the graph in place.
    func graph(foos: Int, asView: Bool, count: Int) -> Subject {
        let sum = bench.message(asView ? "sumInPlace" : "sum")
        // The graph is made for each sample, where it is used: its objects must not be shared between threads.
        return Subject(
            suspending: {
                let bar = Bar(count: foos)
                let expected = bar.sumOfAges
                return try await Self.latency(count, { _ in try await sum(bar) }, expecting: { _ in expected })
            },
            blocking: {
                let bar = Bar(count: foos)
                let expected = bar.sumOfAges
                return try Self.latency(count, { _ in try sum.blocking(bar) }, expecting: { _ in expected })
            })
    }

    func latency(
        count: Int,
        suspending: @escaping @Sendable (Int64) async throws -> Int64,
        blocking: @escaping @Sendable (Int64) throws -> Int64,
        expecting: @escaping @Sendable (Int64) -> Int64
    ) -> Subject {
        Subject(
            suspending: { try await Self.latency(count, suspending, expecting: expecting) },
            blocking: { try Self.latency(count, blocking, expecting: expecting) })
    }

    private static func latency(
        _ count: Int, _ call: (Int64) async throws -> Int64, expecting: (Int64) -> Int64
    ) async throws -> Double {
        var times = [UInt64](repeating: 0, count: count)
        for index in 0..<count {
            let start = floorNow()
            let answer = try await call(Int64(index))
            times[index] = floorNow() - start
            try check(answer, expecting(Int64(index)))
        }
        return medianMicroseconds(times)
    }

    private static func latency(
        _ count: Int, _ call: (Int64) throws -> Int64, expecting: (Int64) -> Int64
    ) throws -> Double {
        var times = [UInt64](repeating: 0, count: count)
        for index in 0..<count {
            let start = floorNow()
            let answer = try call(Int64(index))
            times[index] = floorNow() - start
            try check(answer, expecting(Int64(index)))
        }
        return medianMicroseconds(times)
    }

    // MARK: Rates

    /// Calls per second with `window` of them in flight.
    func inFlight(window: Int, count: Int) -> Subject {
        let bench = bench
        return Subject(suspending: {
            try await Self.rate(count / window * window) {
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for lane in 0..<window {
                        group.addTask {
                            for index in 0..<count / window {
                                let value = Int64(lane + index)
                                try Self.check(try await bench.null(value), value + 1)
                            }
                        }
                    }
                    try await group.waitForAll()
                }
            }
        })
    }

    /// Messages per second.
    func oneWay(count: Int) -> Subject {
        let bench = bench
        return Subject(
            suspending: {
                try await Self.rate(count) {
                    for index in 0..<count { try await bench.note.oneWay(Int64(index)) }
                    try Self.check(try await bench.noted(), Int64(count))
                }
            },
            blocking: {
                try Self.rate(count) {
                    for index in 0..<count { try bench.note.blockingOneWay(Int64(index)) }
                    try Self.check(try bench.noted.blocking(), Int64(count))
                }
            })
    }

    /// Items of 64 bytes per second.
    func stream(count: Int) -> Subject {
        let bench = bench
        return Subject(suspending: {
            try await Self.rate(count) {
                let items: DistantStream<[UInt8]> = try await bench.stream(Int64(count))
                var read: Int64 = 0
                for try await _ in items { read += 1 }
                try Self.check(read, Int64(count))
            }
        })
    }

    /// References per second.
    func streamOfReferences(count: Int) -> Subject {
        let bench = bench
        return Subject(suspending: {
            try await Self.rate(count) {
                let items: DistantStream<DistantObject> = try await bench.streamOfReferences(Int64(count))
                var read: Int64 = 0
                for try await _ in items { read += 1 }
                try Self.check(read, Int64(count))
            }
        })
    }

    /// Gigabytes per second.
    func blob(length: Int, count: Int) -> Subject {
        let bench = bench
        return Subject(
            suspending: {
                let bytes = Data(repeating: 7, count: length)
                return try await Self.rate(length * count) {
                    for _ in 0..<count { try Self.check(try await bench.length(bytes), Int64(length)) }
                } / 1e9
            },
            blocking: {
                let bytes = Data(repeating: 7, count: length)
                return try Self.rate(length * count) {
                    for _ in 0..<count { try Self.check(try bench.length.blocking(bytes), Int64(length)) }
                } / 1e9
            })
    }

    /// Gigabytes per second, of bytes that are filled in place and all read.
    func sharedBlob(length: Int, count: Int) -> Subject {
        let (bench, connection) = (bench, connection)
        @Sendable func filled(_ index: Int) throws -> SharedBytes {
            try connection.withBlob(byteCount: length) {
                $0.initializeMemory(as: UInt8.self, repeating: UInt8(index & 1) + 1)
            }
        }
        @Sendable func sum(_ index: Int) -> Int64 {
            Int64(length / 8) &* 0x0101_0101_0101_0101 &* (Int64(index & 1) + 1)
        }
        return Subject(
            suspending: {
                try await Self.rate(length * count) {
                    for index in 0..<count { try Self.check(try await bench.total(try filled(index)), sum(index)) }
                } / 1e9
            },
            blocking: {
                try Self.rate(length * count) {
                    for index in 0..<count { try Self.check(try bench.total.blocking(try filled(index)), sum(index)) }
                } / 1e9
            })
    }

    static func rate(_ count: Int, _ body: () async throws -> Void) async throws -> Double {
        let start = floorNow()
        try await body()
        return Double(count) / Double(floorNow() - start) * 1e9
    }

    static func rate(_ count: Int, _ body: () throws -> Void) throws -> Double {
        let start = floorNow()
        try body()
        return Double(count) / Double(floorNow() - start) * 1e9
    }

    static func check(_ answer: Int64, _ expected: Int64) throws {
        if answer != expected { throw BenchError("the answer was \(answer), not \(expected)") }
    }
}
