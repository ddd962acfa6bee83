import DistantObjects
import Foundation
import PortTransport
import TestSupport
import Testing

@Suite("Standard streams of a program that other code starts", .bounded())
struct StandardStreamsTests {
    /// Has another program, `env`, start one.
    private func start(_ program: String, with streams: StandardStreams) throws -> ChildProcess {
        var options = ChildProcess.Options()
        options.standardInput = streams.input
        options.standardOutput = streams.output
        let variables = StandardStreams.environment.merging(TestTimeout.environment) { $1 }
        return try ChildProcess.launch(
            "/usr/bin/env", arguments: variables.map { "\($0)=\($1)" } + [program], options: options
        ).0
    }

    private static func isOpen(_ descriptor: CInt) -> Bool { fcntl(descriptor, F_GETFD) >= 0 }

    /// The descriptors of this process that are ends of pipes.
    ///
    /// Threads of the runtime may open other kinds at any time.
    private static var openPipes: Set<CInt> {
        Set(
            (0..<getdtablesize()).filter {
                var status = stat()
                return fstat($0, &status) == 0 && status.st_mode & S_IFMT == S_IFIFO
            })
    }

    @Test("A program that another one has started is the other end, and ends with the connection")
    func startedByOther() async throws {
        let streams = try StandardStreams()
        let process = try start(try builtProgram("FooBarServer"), with: streams)
        let connection = try await streams.connect(configuration: .patient)
        #expect(connection.peer == nil)
        #expect(connection.child == nil)
        // The server exits with status 0 if a client has stopped it, and nothing is left in its tables.
        try await connection.root(named: "session").stop()
        #expect(await connection.ended.isOrderly)
        #expect(await process.waitForExit() == .exited(0))
    }

    @Test("A program that ends without a greeting is an error, and so is one that was never started")
    func noProgramForStreams() async throws {
        let streams = try StandardStreams()
        let process = try start("/bin/true", with: streams)
        await expectCode(.closed) { _ = try await streams.connect(configuration: .patient) }
        _ = await process.waitForExit()
        let unused = try StandardStreams()
        await expectCode(.closed) { _ = try await unused.connect(configuration: .patient) }
        await expectCode(.transport) { _ = try await unused.connect(configuration: .patient) }
    }

    @Test("A program that prints before it greets is an error that names the usual cause")
    func printingBeforeGreeting() async throws {
        let streams = try StandardStreams()
        var options = ChildProcess.Options()
        options.standardInput = streams.input
        options.standardOutput = streams.output
        let (process, _) = try ChildProcess.launch("/bin/echo", arguments: ["ready to take requests"], options: options)
        let error = await #expect(throws: ConnectionError.self) {
            _ = try await streams.connect(configuration: .patient)
        }
        #expect(error?.code == .protocolViolation)
        #expect(error?.message.contains("must call Connection.parent() before it prints") == true, "\(error as Any)")
        _ = await process.waitForExit()
    }

    @Test("Its descriptors are closed in programs that are started meanwhile, and when it is freed")
    func descriptorsOfStreams() async {
        // Other tests open pipes at the same time.
        await #expect(processExitsWith: .success) {
            let before = StandardStreamsTests.openPipes
            do {
                let streams = try StandardStreams()
                for descriptor in [streams.input, streams.output] {
                    #expect(StandardStreamsTests.isOpen(descriptor))
                    #expect(fcntl(descriptor, F_GETFD) & FD_CLOEXEC != 0)
                }
                #expect(StandardStreamsTests.openPipes.count == before.count + 4)
            }
            #expect(StandardStreamsTests.openPipes == before)
        }
    }

    @Test("An end is orderly if a side has closed the connection, and not if the peer is gone")
    func orderlyEnds() async throws {
        let closed = try await Pair()
        await closed.client.close()
        #expect(await closed.client.ended.isOrderly)
        #expect(await closed.server.ended.isOrderly)
        let cut = try await Pair()
        cut.client.invalidate()
        #expect(await cut.client.ended.isOrderly)
        #expect(await !cut.server.ended.isOrderly)
        #expect(!ConnectionEnd.lost(.exited(0)).isOrderly && !ConnectionEnd.refused("").isOrderly)
    }

    @Test("Statistics of several connections can be added up")
    func statisticsSum() {
        var one = ConnectionStatistics()
        (one.exports, one.imports, one.questions, one.answers) = (1, 2, 3, 4)
        (one.pending, one.streams, one.blobs, one.framesIn, one.framesOut) = (5, 6, 7, 8, 9)
        var sum = ConnectionStatistics()
        #expect(sum.isAtRest)
        sum += one
        #expect(sum == one)
        sum += one
        let counts = [sum.exports, sum.imports, sum.questions, sum.answers, sum.pending, sum.streams, sum.blobs]
        let expected: [Int] = [2, 4, 6, 8, 10, 12, 14]
        #expect(counts == expected)
        #expect(sum.framesIn == 16)
        #expect(sum.framesOut == 18)
    }
}
