import DistantObjects
import PortTransport
import TestSupport
import Testing

#if canImport(FoundationEssentials)
    import FoundationEssentials
    import Glibc
#else
    import Foundation
#endif

@Suite("What errors say to people", .bounded())
struct ErrorTextTests {
    private final class Watcher: Vendable {
        static var messages: MessageTable<Watcher> { Message("note", Watcher.note) }

        private let helper: Connection

        init(_ helper: Connection) { self.helper = helper }

        /// Kills the helper, whose method waits for the answer.
        func note(_ number: Int) -> Int {
            helper.child?.kill()
            return number
        }
    }

    @Test("The error of a call whose helper was killed names the helper and the signal", arguments: [false, true])
    func killedInErrorText(overPipes: Bool) async throws {
        let path = try builtProgram("killed-peer")
        // The system may report the exit later than the library waits for it: then another helper is tried.
        while true {
            let helper = try await Connection.launch(
                path, environment: TestTimeout.environment, over: overPipes ? .pipes : .socketpair,
                configuration: .patient)
            let root = try await helper.root
            let error = await #expect(throws: ConnectionError.self) {
                let _: DistantObject = try await root.wait(Watcher(helper))
            }
            let text = "\(error as Any)"
            #expect(error?.code == .outcomeUnknown && text.contains(path), "\(text)")
            guard text.contains("signal 9 (SIGKILL)") else { continue }
            #expect(
                error?.message
                    == "the helper was ended by signal 9 (SIGKILL) before the answer came; the call may have run or not"
            )
            // So does the error of a later call.
            let later = await #expect(throws: ConnectionError.self) { let _: String = try await root.name() }
            #expect(later?.message == "the helper was ended by signal 9 (SIGKILL); the call was not sent")
            return
        }
    }

    @Test(
        "A call to a helper that has ended names the message, the connection and the signal, although no call was under way"
    )
    func lateCallInErrorText() async throws {
        let root = try await Self.rootOfKilled()
        let text = "the helper was ended by signal 9 (SIGKILL); the call was not sent"
        let task = await #expect(throws: ConnectionError.self) { let _: String = try await root.name() }
        #expect(task.map { "\($0)" } == "name over worker: \(text)")
        let thread = await #expect(throws: ConnectionError.self) {
            try await onThread { let _: String = try root.name.blocking() }
        }
        #expect(thread.map { "\($0)" } == "name over worker: \(text)")
        let oneWay = await #expect(throws: ConnectionError.self) { try await root.name.oneWay() }
        #expect(oneWay.map { "\($0)" } == "name over worker: \(text)")
        #expect(task?.code == .closed && task?.isSafeToRetry == true)
    }

    private static func rootOfKilled() async throws -> DistantObject {
        // As above.
        while true {
            let helper = try await Connection.launch(
                try builtProgram("killed-peer"), environment: TestTimeout.environment,
                configuration: .patient.named("worker"))
            let root = try await helper.root
            helper.child?.kill()
            if !RawPeerConnection.isLostWithoutStatus(await helper.ended) { return root }
        }
    }

    @Test("The look-up in a helper that ends before it vends anything says that")
    func unvendedInErrorText() async throws {
        let helper = try await Connection.launch(
            try builtProgram("killed-peer"), arguments: ["unvended", "3"], environment: TestTimeout.environment,
            configuration: .patient.named("worker"))
        let error = await #expect(throws: ConnectionError.self) { _ = try await helper.root }
        #expect(
            error?.message.hasSuffix("before it has answered the look-up; its standard error may say why") == true,
            "\(error as Any)")
        await helper.close()
    }

    @Test(
        "The error of a stream whose helper was killed names the connection and the signal", arguments: [false, true])
    func killedStreamInErrorText(overPipes: Bool) async throws {
        let path = try builtProgram("killed-peer")
        // As above.
        while true {
            let helper = try await Connection.launch(
                path, environment: TestTimeout.environment, over: overPipes ? .pipes : .socketpair,
                configuration: .patient)
            let spring = try await helper.root(named: "spring")
            let numbers: DistantStream<[Int]>.WithFinal<Int> = try await spring.numbers(10_000, "some items")
            let error = await #expect(throws: ConnectionError.self) {
                for try await _ in numbers {}
            }
            #expect(
                error?.code == .outcomeUnknown && error?.context == "a stream over \(helper.name)", "\(error as Any)")
            guard error?.message.contains("signal 9 (SIGKILL)") == true else { continue }
            #expect(
                error?.message
                    == "the helper was ended by signal 9 (SIGKILL) before the stream ended; more items may have been sent"
            )
            return
        }
    }

    @Test("An exit status is a word and a number, and a signal has its name")
    func statuses() {
        let statuses: [ChildProcess.ExitStatus] = [.exited(3), .signalled(11), .signalled(60), .unknown]
        #expect("\(statuses)" == "[status 3, signal 11 (SIGSEGV), signal 60, unknown status]")
        #expect("\(ConnectionEnd.lost(.exited(3)))" == "the helper has ended with status 3")
        #expect("\(ConnectionEnd.lost(.signalled(15)))" == "the helper was ended by signal 15 (SIGTERM)")
        #expect("\(ConnectionEnd.lost(.unknown))" == "the peer is gone")
    }

    @Test("Codes are printed as words")
    func codesInErrorText() {
        #expect("\([ConnectionError.Code.notSent])" == "[notSent]")
        #expect("\([ConnectionEvent.Code.opened, .childExited])" == "[opened, childExited]")
        #expect("\([TypeDescription.Kind.nothing, .stream, .init(rawValue: 9)])" == "[nothing, stream, kind 9]")
        #expect("\([TransportError.Code.notFound])" == "[notFound]")
        #expect("\([ArchiveError.Code.corrupt])" == "[corrupt]")
    }

    @Test("An error about a socket says its path once")
    func pathsInErrorText() async throws {
        let folder = try TemporaryFolder()
        let file = folder.path("file")
        try Data("text".utf8).write(to: URL(fileURLWithPath: file))
        let held = try Listener(at: .path(folder.socket), configuration: .patient)
        // A socket that nobody listens at any more.
        let stale = folder.path("stale")
        try Self.leaveSocket(at: stale)
        let long = folder.path(String(repeating: "x", count: 200))
        let (missing, lost) = (folder.path("missing"), folder.path("no/s"))

        for (path, sentence) in [
            (file, "the file is not a socket"), (missing, "there is no such socket"),
            (stale, "nobody listens at this socket"),
            (
                long,
                "the path of a socket has at most 4095 bytes, and its last part 80; this one has \(long.utf8.count) and 200"
            ),
        ] {
            let error = await #expect(throws: ConnectionError.self) { _ = try await Connection.open(.path(path)) }
            #expect("\(error as Any)" == "Optional(\(path): \(sentence))")
        }
        for (path, sentence) in [
            (file, "there is a file that is not a socket"), (lost, "the folder for the socket does not exist"),
            (folder.socket, "another listener has this path: this process"),
            (folder.path + "/", "this is the path of a folder, not of a socket"),
        ] {
            let error = #expect(throws: ConnectionError.self) { try Listener(at: .path(path)) }
            #expect("\(error as Any)" == "Optional(\(path): \(sentence))")
        }
        held.close()
    }

    private static let longest = MemoryLayout.size(ofValue: sockaddr_un().sun_path) - 1

    /// Binds a socket to a path, and closes it.
    private static func leaveSocket(at path: String) throws {
        #if canImport(Glibc)
            let descriptor = socket(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0)
        #else
            let descriptor = socket(AF_UNIX, SOCK_STREAM, 0)
        #endif
        defer { close(descriptor) }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let size = socklen_t(MemoryLayout<sockaddr_un>.size)
        let result = withUnsafePointer(to: &address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, size) }
        }
        try #require(result == 0)
    }
}

extension Connection.Configuration {
    /// The configuration of a connection of that name.
    fileprivate func named(_ name: String) -> Self {
        var configuration = self
        configuration.name = name
        return configuration
    }
}
