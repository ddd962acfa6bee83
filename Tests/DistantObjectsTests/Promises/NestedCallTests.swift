import DistantObjects
import PortTransport
import TestSupport
import Testing

@Suite("Calls of methods while messages that wait for these methods use all credit", .bounded())
struct NestedCallTests {
    /// How a method calls back.
    enum Way: String, CaseIterable {
        case call, promise, child, task, mainActor
    }

    @Test("Both sides call back", arguments: Way.allCases)
    func both(way: Way) async throws {
        var configuration = Connection.Configuration.patient
        configuration.limits.queuedCalls = 1
        let (first, second) = try await Connection.pair(first: configuration, second: configuration)
        let hosts = [Host(), Host()]
        first.vend(hosts[0], as: "host")
        second.vend(hosts[1], as: "host")
        var waiting: [Task<String, any Error>] = []
        for (connection, host) in [(first, hosts[1]), (second, hosts[0])] {
            let other = try await connection.root(named: "host")
            let promise = other.message(way.rawValue).promise(DistantObject(standingFor: Host()))
            waiting.append(Task { try await promise.name() })
            await host.started.wait()
        }
        // Each side has one call that has started, and one that waits for it and uses the only credit.
        for connection in [first, second] {
            await eventually("the messages to the promises have come") { connection.statistics.answers >= 2 }
        }
        for host in hosts { host.gate.send() }
        for task in waiting { #expect(try await task.value == "host") }
        await first.close()
        _ = await second.ended
    }

    /// An object whose methods call their caller back, twice.
    final class Host: Vendable {
        let started = Signal()
        let gate = Signal()

        static var messages: MessageTable<Host> {
            Message("name") { (_: Host) in { () -> String in "host" } }
            Message("own") { (host: Host) in { () -> Host in host } }
            Message("call", Host.call)
            Message("promise", Host.promise)
            Message("child", Host.child)
            Message("task", Host.task)
            Message("mainActor", Host.mainActor)
        }

        private func begin() async {
            started.send()
            await gate.wait()
        }

        func call(_ caller: DistantObject) async throws -> Host {
            await begin()
            for _ in 0..<2 { _ = try await caller.name() as String }
            return self
        }

        func promise(_ caller: DistantObject) async throws -> Host {
            await begin()
            for _ in 0..<2 { _ = try await caller.own.promise().own.promise().name() as String }
            return self
        }

        func child(_ caller: DistantObject) async throws -> Host {
            await begin()
            async let first: String = caller.name()
            async let second: String = caller.name()
            _ = try await (first, second)
            return self
        }

        func task(_ caller: DistantObject) async throws -> Host {
            await begin()
            _ = try await Task { try await caller.name() as String }.value
            return self
        }

        @MainActor
        func mainActor(_ caller: DistantObject) async throws -> Host {
            await begin()
            for _ in 0..<2 { _ = try await caller.name() as String }
            return self
        }
    }
}
