import DistantObjects
import Foundation
import Integrations
import LineSorting
import Metrics
import MetricsTestKit
import Testing

@Suite("Statistics to swift-metrics")
struct MetricsTests {
    private func gauge(_ name: String, of metrics: TestMetrics) throws -> Double? {
        try metrics.expectGauge("distant_\(name)").lastValue
    }

    @Test("The gauges say what is open over all connections, and go back to zero")
    func gauges() async throws {
        let metrics = TestMetrics()
        let meter = ConnectionMeter(factory: metrics)
        var configuration = Connection.Configuration.patient
        meter.measure(&configuration)
        let sorter = HeldSorter()
        var clients: [Connection] = []
        var servers: [Connection] = []
        for _ in 0..<2 {
            let (client, server) = try await Connection.pair(first: .patient, second: configuration)
            try server.vend(sorter)
            clients.append(client)
            servers.append(server)
        }
        let remotes = [
            try await clients[0].root(as: SorterInterface.self), try await clients[1].root(as: SorterInterface.self),
        ]
        async let first = remotes[0].sort(Data())
        async let second = remotes[1].sort(Data())
        try await eventually("both calls run") { await sorter.count == 2 }
        meter.sample()
        #expect(try gauge("connections", of: metrics) == 2)
        #expect(try gauge("answers", of: metrics) == 2)
        #expect(try gauge("exports", of: metrics) == 2)
        #expect(try gauge("questions", of: metrics) == 0)
        await sorter.answer()
        _ = try await (first, second)
        for client in clients { await client.close() }
        for server in servers { _ = await server.ended }
        try await eventually("no connection is measured") {
            meter.sample()
            return try gauge("connections", of: metrics) == 0
        }
        #expect(try gauge("answers", of: metrics) == 0)
    }

    @Test("The counters have every frame and every event once, also those of a connection that has ended")
    func counters() async throws {
        let metrics = TestMetrics()
        let meter = ConnectionMeter(factory: metrics)
        var configuration = Connection.Configuration.patient
        configuration.sharesMemory = false
        meter.measure(&configuration)
        let (client, server) = try await Connection.pair(first: .patient, second: configuration)
        for _ in 0..<10 {
            try await client.ping()
            meter.sample()
        }
        await client.close()
        _ = await server.ended
        let sum = { (direction: String) in
            metrics.counterTotal(label: "distant_frames", dimensions: [("direction", direction)])
        }
        try await eventually("the last frames are counted") {
            meter.sample()
            return sum("in") == Int64(server.statistics.framesIn)
        }
        #expect(sum("out") == Int64(server.statistics.framesOut))
        #expect(sum("out") > 10)
        for code in ["opened", "ended"] {
            #expect(metrics.counterTotal(label: "distant_events", dimensions: [("code", code)]) == 1)
        }
    }

    @Test("The events of a helper are counted by their names, until it is stopped")
    func helperEvents() async throws {
        let metrics = TestMetrics()
        let meter = ConnectionMeter(factory: metrics)
        let policy = RestartPolicy.onFailure(limit: 2, backoff: .zero ... .zero)
        let helper = Helper(SorterInterface.self, name: "sorter", restart: policy) { throw CancellationError() }
        let measuring = Task { await meter.measure(helper, as: "sorter") }
        await #expect(throws: ConnectionError.self) { _ = try await helper.remote.sort(Data()) }
        await helper.stop()
        await measuring.value
        let counts = ["ended", "gaveUp", "started"].map { event in
            metrics.counterTotal(
                label: "distant_helper_events", dimensions: [("event", event), ("helper", "sorter")])
        }
        // An end before the connection counts twice.
        #expect(counts == [2, 1, 0])
    }

    @Test("The meter holds no connection")
    func unheld() async throws {
        let meter = ConnectionMeter(factory: TestMetrics())
        var configuration = Connection.Configuration.patient
        meter.measure(&configuration)
        weak var freed: Connection?
        do {
            let (client, server) = try await Connection.pair(first: configuration, second: .patient)
            freed = client
            await client.close()
            _ = await server.ended
        }
        try await eventually("it is freed") { freed == nil }
    }
}
