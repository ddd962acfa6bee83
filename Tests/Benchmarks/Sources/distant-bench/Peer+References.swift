import CFloor
import DistantObjects

// Work with objects by reference.
extension Peer {
    /// Calls that each depend on the result of the one before, and a last one whose result is waited for.
    ///
    /// - Parameter depth: The number of calls, with the last one.
    func pipeline(depth: Int, count: Int) -> Subject {
        let bench = bench
        return latency(
            count: count,
            suspending: {
                var object = bench
                for _ in 1..<depth { object = object.itself.promise() }
                return try await object.null($0)
            },
            blocking: {
                var object = bench
                for _ in 1..<depth { object = object.itself.promise() }
                return try object.null.blocking($0)
            },
            expecting: { $0 + 1 })
    }

    /// The microseconds it takes to export an object, send it, and have it released, 64 of them in each call.
    func exportChurn(count: Int) -> Subject {
        let bench = bench
        let objects = 64
        return Subject(
            suspending: {
                let rate = try await Self.rate(count * objects) {
                    for _ in 0..<count {
                        let callers = (0..<objects).map { _ in Caller() }
                        try Self.check(try await bench.count(callers), Int64(objects))
                    }
                }
                return 1e6 / rate
            },
            blocking: {
                let rate = try Self.rate(count * objects) {
                    for _ in 0..<count {
                        let callers = (0..<objects).map { _ in Caller() }
                        try Self.check(try bench.count.blocking(callers), Int64(objects))
                    }
                }
                return 1e6 / rate
            })
    }
}
