public import DistantObjects
public import Metrics
import Synchronization

/// Measures connections and helpers: gauges of what is open, and counters of frames and events.
///
/// The gauges are sums over all measured connections, so that there are as many of them for one connection as for a thousand.
public final class ConnectionMeter: Sendable {
    private struct Weak {
        // The meter must not hold a connection that its user drops.
        weak var connection: Connection?
    }

    private struct State {
        var open: [ObjectIdentifier: Weak] = [:]
        /// The frames of connections that have ended.
        var ended = ConnectionStatistics()
        var counted = ConnectionStatistics()
    }

    private let factory: any MetricsFactory
    private let state = Mutex(State())

    /// A meter that sends to a factory.
    public init(factory: any MetricsFactory = MetricsSystem.factory) { self.factory = factory }

    /// Measures the connections of a configuration, besides what `onEvent` does already.
    public func measure(_ configuration: inout Connection.Configuration) {
        let next = configuration.onEvent
        configuration.onEvent = { [self] event in
            next?(event)
            count("events", ["code": event.code.rawValue], 1)
            guard let connection = Connection.current else { return }
            state.withLock { state in
                let id = ObjectIdentifier(connection)
                if event.code == .opened { state.open[id] = Weak(connection: connection) }
                if event.code == .ended, state.open.removeValue(forKey: id) != nil {
                    state.ended += connection.statistics
                }
            }
        }
    }

    // Operations.md: helper
    /// Counts the events of a helper, until it is stopped.
    public func measure<I: Interface>(_ helper: Helper<I>, as name: String) async {
        for await event in helper.events { count("helper_events", ["event": event.name, "helper": name], 1) }
    }
    // end

    /// Sends what is open now, and the frames since the last time: call it as often as your metrics are read.
    public func sample() {
        let (connections, sum, counted) = state.withLock { state in
            var sum = state.ended
            for entry in state.open.values { if let now = entry.connection?.statistics { sum += now } }
            defer { state.counted = sum }
            return (state.open.count, sum, state.counted)
        }
        for (name, value) in [
            ("connections", connections), ("exports", sum.exports), ("imports", sum.imports),
            ("questions", sum.questions), ("answers", sum.answers), ("pending", sum.pending),
            ("streams", sum.streams), ("blobs", sum.blobs),
        ] {
            Gauge(label: "distant_\(name)", factory: factory).record(value)
        }
        count("frames", ["direction": "in"], sum.framesIn - counted.framesIn)
        count("frames", ["direction": "out"], sum.framesOut - counted.framesOut)
    }

    private func count(_ name: String, _ dimensions: [String: String], _ amount: UInt64) {
        let dimensions = dimensions.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
        Counter(label: "distant_\(name)", dimensions: dimensions, factory: factory).increment(by: amount)
    }
}
