import CPortShims
import DistantObjects
import TestSupport
import Testing

#if canImport(FoundationEssentials)
    import FoundationEssentials
    import Glibc
#else
    import Foundation
#endif

/// An object to which a method says that it runs.
private final class Beginning: Vendable {
    let noted = Signal()

    static var messages: MessageTable<Beginning> { Message("note", Beginning.note) }

    func note(_ number: Int) -> Int {
        noted.send()
        return number
    }
}

/// A process that holds an end of a connection beside the one that speaks: started by a shell, whose file gets its number.
private struct Holder {
    private let folder: TemporaryFolder
    private var file: String { folder.path("pid") }

    init() throws { folder = try TemporaryFolder() }

    /// Starts the holder, and then becomes the program.
    ///
    /// A shell gives a program in the background no standard input unless it is told to; a connection over a socketpair leaves
    /// that of the test, which may be closed.
    func script(before program: String, overPipes: Bool) -> [String] {
        let (kept, given, closed) = overPipes ? ("exec 4<&0;", "<&4", "4<&-") : ("", "", "")
        return [
            "-c",
            "\(kept) sleep 100000 \(given) & echo $! > \(file).new; mv \(file).new \(file); exec \(program) \(closed)",
        ]
    }

    var pid: Int32? {
        FileManager.default.contents(atPath: file).flatMap {
            Int32(String(decoding: $0, as: UTF8.self).split(separator: "\n").first ?? "")
        }
    }

    /// Ends the holder, after a check that it still ran.
    func end() throws {
        let pid = try #require(pid)
        #expect(kill(pid, SIGKILL) == 0)
    }
}

#if os(Linux)
    @Suite("An end that more than one process holds", .bounded())
    struct HeldEndTests {
        private static func isLost(_ end: ConnectionEnd, by signal: Int32?) -> Bool {
            guard case .lost(let status) = end else { return false }
            return status == signal.map { .signalled($0) }
        }

        @Test(
            "The death of the helper ends the connection, even if a program beside it holds its end",
            arguments: KilledProcess.Way.allCases)
        func helperInHeldEnd(way: KilledProcess.Way) async throws {
            let holder = try Holder()
            let connection = try await Self.launch(holder, over: way)
            while way == .sharedMemory, !connection.isInSharedMemory { try await connection.ping() }
            let root = try await connection.root
            let (observer, beginning) = (Observer(), Beginning())
            let waiting = CountedCall { let _: DistantObject = try await root.wait(beginning) }
            // The method that blocks lets no later message to its object start.
            await beginning.noted.wait()
            let blocking = CountedCall { try await onThread { try root.block.blocking(observer) } }
            await observer.noted.wait()
            connection.child?.kill()
            for call in [waiting, blocking] { await call.expect(.outcomeUnknown) }
            let end = await connection.ended
            #expect(Self.isLost(end, by: SIGKILL), "\(end)")
            await expectCode(.closed) { let _: Int = try await root.note(1) }
            #expect(connection.statistics.isAtRest)
            try holder.end()
        }

        private static func launch(_ holder: Holder, over way: KilledProcess.Way) async throws -> Connection {
            var configuration = Connection.Configuration.patient
            if way == .sharedMemory { configuration.busy = .always }
            // Over pipes the limit of the ping has to pass, which is that of the handshake.
            if way == .pipes { configuration.handshakeTimeout = .seconds(5) }
            while true {
                do {
                    return try await Connection.launch(
                        "/bin/sh",
                        arguments: holder.script(before: try builtProgram("killed-peer"), overPipes: way == .pipes),
                        over: way == .pipes ? .pipes : .socketpair, configuration: configuration)
                } catch let error as ConnectionError where error.code == .handshakeTimeout {
                    // On a busy machine the program needs more time to begin.
                    configuration.handshakeTimeout *= 4
                    if let pid = holder.pid { kill(pid, SIGKILL) }
                }
            }
        }

        @Test(
            "A helper notices the death of the tool, even if a brother holds the tool's end",
            arguments: [
                "socket", "memory", "pipes",
            ])
        func toolInHeldEnd(way: String) async throws {
            let (said, alive) = (try Pipe(), try Pipe())
            var pid: pid_t = 0
            try Self.spawn(["tool", way], output: said.writing, errors: alive.writing, &pid)
            said.closeWriting()
            alive.closeWriting()
            let line = try await onThread { said.read(until: 10) }
            let brother = try #require(Int32(String(decoding: line, as: UTF8.self)))
            kill(pid, SIGKILL)
            // Its standard error, which only the tool and its helper have, ends with both.
            _ = try await onThread { alive.read(until: nil) }
            #expect(kill(brother, SIGKILL) == 0)
            var status: Int32 = 0
            #expect(waitpid(pid, &status, 0) == pid)
        }

        @Test(
            "A launched process may leave the connection to a daemon",
            arguments: [ChildProcess.Transport.socketpair, .pipes])
        func daemon(transport: ChildProcess.Transport) async throws {
            var configuration = Connection.Configuration.patient
            let exits = Signal()
            configuration.onEvent = { event in
                if event.code == .childExited, event.exitStatus == .exited(3) { exits.send() }
            }
            let program = try builtProgram("killed-peer")
            let connection = try await Connection.launch(
                "/bin/sh",
                arguments: [
                    "-c", transport == .pipes ? "exec 4<&0; \(program) <&4 4<&- & exit 3" : "\(program) & exit 3",
                ],
                over: transport,
                configuration: configuration)
            #expect(await connection.child?.waitForExit() == .exited(3))
            await exits.wait()
            let daemon: Int32 = try await connection.root.process()
            #expect(daemon != connection.child?.pid)
            let one: Int = try await connection.root.note(1)
            #expect(one == 1 && !connection.isEnded)
            kill(daemon, SIGKILL)
            let end = await connection.ended
            guard case .lost(.exited(3)?) = end else {
                Issue.record("\(end)")
                return
            }
        }

        @Test("A client may leave the connection to another process")
        func client() async throws {
            let place = try TemporaryFolder()
            let listener = try Listener(at: .path(place.socket), configuration: .patient)
            let (leaving, endpoint) = try ChildProcess.launch(
                try builtProgram("killed-peer"), arguments: ["leave", place.socket])
            var iterator = listener.makeAsyncIterator()
            let connection = try #require(await iterator.next())
            #expect(await leaving.waitForExit() == .exited(0))
            #expect(connection.peer?.pid == leaving.pid)
            let heir: Int32 = try await connection.root.process()
            #expect(heir != leaving.pid)
            let one: Int = try await connection.root.note(1)
            #expect(one == 1 && !connection.isEnded)
            kill(heir, SIGKILL)
            let end = await connection.ended
            #expect(Self.isLost(end, by: nil), "\(end)")
            listener.close()
            withExtendedLifetime(endpoint) {}
        }

        @Test("A client watches the server that answers, and not the dead process that made the socket")
        func socketOfThird() async throws {
            let place = try TemporaryFolder()
            let (third, endpoint) = try ChildProcess.launch(
                try builtProgram("killed-peer"), arguments: ["listen", place.socket])
            var connections: [Connection] = []
            for _ in 0..<10 {
                connections.append(
                    try await Connection.open(
                        .path(place.socket), timeout: TestTimeout.wait, configuration: .patient))
            }
            let connection = connections[0]
            #expect(await third.waitForExit() == .exited(0))
            #expect(connection.peer?.pid == third.pid)
            let server: Int32 = try await connection.root.process()
            let one: Int = try await connection.root.note(1)
            #expect(one == 1 && !connection.isEnded)
            // All connections to a process share one descriptor of it.
            #expect(Self.descriptors(of: server) == 1)
            for connection in connections.dropFirst() { connection.invalidate() }
            for connection in connections.dropFirst() { _ = await connection.ended }
            #expect(Self.descriptors(of: server) == 1)
            kill(server, SIGKILL)
            let end = await connection.ended
            #expect(Self.isLost(end, by: nil), "\(end)")
            await eventually("its descriptor is closed") { Self.descriptors(of: server) == 0 }
            withExtendedLifetime(endpoint) {}
        }

        /// The number of this process's descriptors that stand for another one.
        private static func descriptors(of pid: Int32) -> Int {
            let numbers = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fdinfo")) ?? []
            return numbers.count { number in
                let info = FileManager.default.contents(atPath: "/proc/self/fdinfo/\(number)") ?? Data()
                return String(decoding: info, as: UTF8.self).split(separator: "\n").contains { line in
                    line.hasPrefix("Pid:") && line.split(whereSeparator: \.isWhitespace).last == "\(pid)"
                }
            }
        }

        private static func spawn(_ arguments: [String], output: CInt, errors: CInt, _ pid: inout pid_t) throws {
            let program = try builtProgram("killed-peer")
            let words = ([program] + arguments).map { strdup($0) } + [nil]
            defer { for word in words { free(word) } }
            let null = open("/dev/null", O_RDONLY | O_CLOEXEC)
            defer { close(null) }
            let copies = [null, output, errors].map { port_duplicate($0) }
            defer { for copy in copies { close(copy) } }
            let number = words.withUnsafeBufferPointer { words in
                copies.withUnsafeBufferPointer { copies in
                    var start = port_program_start(
                        arguments: words.baseAddress, environment: port_environment(), directory: nil,
                        descriptors: copies.baseAddress, count: CInt(copies.count), group: PORT_GROUP_SHARED)
                    return port_spawn(&start, &pid)
                }
            }
            try #require(number == 0)
        }
    }

    /// A pipe of this process.
    private final class Pipe: Sendable {
        private let reading: CInt
        let writing: CInt

        init() throws {
            var ends: [CInt] = [-1, -1]
            try #require(port_pipe(&ends) == 0)
            (reading, writing) = (ends[0], ends[1])
        }

        deinit { close(reading) }

        func closeWriting() { close(writing) }

        /// The bytes before that byte, or before the end.
        func read(until last: UInt8?) -> [UInt8] {
            var bytes: [UInt8] = []
            var byte: UInt8 = 0
            while true {
                switch Glibc.read(reading, &byte, 1) {
                case 1 where byte == last: return bytes
                case 1: bytes.append(byte)
                case 0: return bytes
                // The death of a child may interrupt the read.
                default: #expect(errno == EINTR)
                }
            }
        }
    }
#endif
