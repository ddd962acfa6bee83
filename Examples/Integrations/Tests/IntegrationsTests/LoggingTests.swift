import DistantObjects
import Foundation
import InMemoryLogging
import Integrations
import LineSorting
import Logging
import Synchronization
import Testing

@Suite("Events to swift-log")
struct LoggingTests {
    private func makeLog() -> (Logger, InMemoryLogHandler) {
        let handler = InMemoryLogHandler()
        var logger = Logger(label: "test") { _ in handler }
        logger.logLevel = .trace
        return (logger, handler)
    }

    @Test("Each event is a line with its level, its connection and its peer, and the handler before is called, too")
    func connectionLines() async throws {
        let (logger, log) = makeLog()
        let codes = Mutex<[String]>([])
        var configuration = Connection.Configuration.patient
        configuration.name = "sorter"
        configuration.onEvent = { event in codes.withLock { $0.append(event.code.rawValue) } }
        configuration.log(to: logger)
        let (client, server) = try await Connection.pair(first: configuration, second: .patient)
        server.invalidate()
        _ = await client.ended
        try await eventually("the end is logged") { log.entries.contains { $0.metadata["event"] == "ended" } }
        let own = PeerCredentials.current
        #expect(log.entries.map { $0.metadata["event"] } == ["opened", "ended"])
        #expect(log.entries.map(\.level) == [.debug, .warning])
        #expect(log.entries[1].message == "ended: the peer is gone")
        for entry in log.entries {
            #expect(entry.metadata["connection"] == "sorter")
            #expect(entry.metadata["peer"] == "\(own)")
        }
        #expect(codes.withLock { $0 } == ["opened", "ended"])
    }

    @Test("A connection that is closed in order ends without a warning")
    func orderlyLines() async throws {
        let (logger, log) = makeLog()
        var configuration = Connection.Configuration.patient
        configuration.log(to: logger)
        let (client, server) = try await Connection.pair(first: configuration, second: configuration)
        await client.close()
        _ = await server.ended
        try await eventually("both ends are logged") {
            log.entries.filter { $0.metadata["event"] == "ended" }.count == 2
        }
        #expect(log.entries.allSatisfy { $0.level == .debug })
    }

    @Test("A call that is refused is a warning with the name of the message")
    func refusedLine() async throws {
        let (logger, log) = makeLog()
        var configuration = Connection.Configuration.patient
        configuration.log(to: logger)
        configuration.limits.runningCalls = 1
        let (client, server) = try await Connection.pair(first: .patient, second: configuration)
        let sorter = HeldSorter()
        try server.vend(sorter)
        let remote = try await client.root(as: SorterInterface.self)
        async let first = remote.sort(Data("b\na\n".utf8))
        try await eventually("the first call runs") { await sorter.count == 1 }
        let error = await #expect(throws: ConnectionError.self) { try await remote.sort(Data()) }
        #expect(error?.code == .overloaded)
        await sorter.answer()
        #expect(try await first == Data("a\nb\n".utf8))
        try await eventually("the refusal is logged") {
            log.entries.contains {
                $0.metadata["event"] == "callRefused" && $0.level == .warning
                    && "\($0.message)".contains("HeldSorter.sort")
            }
        }
        await client.close()
    }

    @Test("A worker that is killed is a warning, and the next one is a line with its process")
    func helperLines() async throws {
        let (logger, log) = makeLog()
        let helper = Helper(SorterInterface.self, try builtProgram("line-sorter-worker"))
        let logging = Task { await helper.log(to: logger) }
        _ = try await helper.running()
        let first = try #require(helper.connection?.child)
        first.kill()
        try await eventually("the end is logged") { log.entries.contains { $0.level == .warning } }
        let text = Data("b\na\n".utf8)
        #expect(try await helper.remote.sort(text) == text.expectedLines)
        let second = try #require(helper.connection?.child)
        await helper.stop()
        await logging.value
        let lines = log.entries.filter { !"\($0.message)".hasPrefix("is started again") }.map {
            "\($0.level) \($0.message)"
        }
        #expect(
            lines.prefix(3) == [
                "info started as process \(first.pid)", "warning it was ended by signal 9 (SIGKILL)",
                "info started as process \(second.pid)",
            ], "\(lines)")
        #expect(log.entries.last?.level == .info, "\(lines)")
    }
}
