import Foundation
import TestSupport
import Testing

#if canImport(Glibc)
    import Glibc
#endif

@Suite("Errors of FooBarClient and FooBarServer")
struct MishapTests {
    private let scratch: TemporaryFolder

    init() throws {
        scratch = try TemporaryFolder()
    }

    @Test(
        "Invalid arguments are reported, and nothing is done",
        arguments: [
            ("FooBarClient", ["--over"], "--over"),
            ("FooBarClient", ["--over", "carrier-pigeon"], "--over"),
            ("FooBarClient", ["--over", "socket"], "--path"),
            ("FooBarClient", ["--over", "pipes", "--path", "/tmp/x"], "--path"),
            ("FooBarClient", ["--path"], "--path"),
            ("FooBarClient", ["--path", ""], "--path"),
            ("FooBarClient", ["--at"], "--at"),
            ("FooBarClient", ["--at", "exec:x", "--path", "/tmp/x"], "--at"),
            ("FooBarClient", ["hello"], "hello"),
            ("FooBarServer", ["hello"], "hello"),
            ("FooBarServer", ["--path"], "--path"),
            ("FooBarServer", ["--path", "/tmp/x", "y"], "--path"),
            ("FooBarServer", [], "launched"),
        ])
    func wrongArgumentsInMishap(program: String, arguments: [String], word: String) async throws {
        let outcome = try await Program.run(program, arguments, in: scratch)
        #expect(outcome.status == 2)
        #expect(outcome.output.isEmpty)
        let sentence = outcome.errors.prefix { $0 != "\n" }
        #expect(sentence.hasPrefix("\(program): ") && sentence.contains(word), "\(outcome.errors)")
    }

    @Test("No process listens at the path", arguments: ["none", "no/such/folder/none"])
    func nobody(name: String) async throws {
        try await expectFailure("FooBarClient", ["--path", scratch.path(name)], naming: scratch.path(name))
    }

    @Test("The path is a file that is no socket", arguments: ["FooBarClient", "FooBarServer"])
    func noSocket(program: String) async throws {
        let path = scratch.path("file")
        try Data("keep me".utf8).write(to: URL(fileURLWithPath: path))
        try await expectFailure(program, ["--path", path], naming: path)
        #expect(try String(contentsOfFile: path, encoding: .utf8) == "keep me")
    }

    @Test("The path is too long for a socket", arguments: ["FooBarClient", "FooBarServer"])
    func tooLongInMishap(program: String) async throws {
        let path = scratch.path(String(repeating: "x", count: 120))
        try await expectFailure(program, ["--path", path], naming: path)
    }

    @Test("The folder for the server's socket does not exist")
    func noFolder() async throws {
        try await expectFailure("FooBarServer", ["--path", scratch.path("no/s")], naming: scratch.path("no/s"))
    }

    @Test("A second server at the same path is refused, and the first goes on")
    func takenPath() async throws {
        let path = scratch.path("s")
        let server = try await serve(at: path)
        try await expectFailure("FooBarServer", ["--path", path], naming: path)
        let client = try await Program.run("FooBarClient", ["--path", path], in: scratch)
        #expect(client.status == 0, "\(client.errors)")
        #expect(try await server.finish().status == 0)
    }

    @Test("The process that listens at the path does not answer")
    func silentListener() async throws {
        let path = scratch.path("s")
        let descriptor = try listenSilently(at: path)
        defer { close(descriptor) }
        try await expectFailure("FooBarClient", ["--path", path], naming: path, patience: .milliseconds(100))
    }

    @Test("The launched server is killed in the middle", arguments: ["socketpair", "pipes"])
    func launchedServerKilled(over: String) async throws {
        let client = try Program("FooBarClient", ["--over", over, "--step"], in: scratch)
        try client.enter(2)
        try #require(try await client.waits(for: "A graph keeps its shape"))
        let server = try #require(client.launchedServer)
        kill(server, SIGKILL)
        try client.proceed()
        let outcome = try await client.finish()
        #expect(outcome.status == 1)
        #expect(outcome.errors.hasPrefix("FooBarClient: the server has ended"), "\(outcome.errors)")
        #expect(!isAlive(server))
    }

    @Test("The server at a socket is killed in the middle, and the next one takes its path")
    func serverKilled() async throws {
        let path = scratch.path("s")
        let server = try await serve(at: path)
        let client = try Program("FooBarClient", ["--path", path, "--step"], in: scratch)
        try client.enter(2)
        try #require(try await client.waits(for: "A graph keeps its shape"))
        kill(server.pid, SIGKILL)
        try client.proceed()
        let outcome = try await client.finish()
        #expect(outcome.status == 1)
        #expect(outcome.errors.hasPrefix("FooBarClient: the server has ended"), "\(outcome.errors)")

        try await expectFailure("FooBarClient", ["--path", path], naming: path)
        let next = try await serve(at: path)
        #expect(try await Program.run("FooBarClient", ["--path", path], in: scratch).status == 0)
        #expect(try await next.finish().status == 0)
    }

    @Test("The client is killed, and the server it launched ends too", arguments: ["socketpair", "pipes"])
    func clientKilled(over: String) async throws {
        let client = try Program("FooBarClient", ["--over", over, "--step"], in: scratch)
        try client.enter(2)
        try #require(try await client.waits(for: "A graph keeps its shape"))
        let server = try #require(client.launchedServer)
        kill(client.pid, SIGKILL)
        #expect(try await client.finish().status == 128 + SIGKILL)
        #expect(try await eventually { !isAlive(server) })
    }

    @Test("A client of the server at a socket is killed, and the server goes on for the next")
    func clientAtSocketKilled() async throws {
        let path = scratch.path("s")
        let server = try await serve(at: path)
        let client = try Program("FooBarClient", ["--path", path, "--step"], in: scratch)
        try client.enter(2)
        try #require(try await client.waits(for: "A graph keeps its shape"))
        kill(client.pid, SIGKILL)
        _ = try await client.finish()
        let next = try await Program.run("FooBarClient", ["--path", path], in: scratch)
        #expect(next.status == 0, "\(next.errors)")
        let outcome = try await server.finish()
        #expect(outcome.status == 0)
        #expect(outcome.errors.contains("the client has gone without a word"))
    }

    // MARK: Helpers

    private func serve(at path: String) async throws -> Program {
        let server = try Program("FooBarServer", ["--path", path], in: scratch)
        try #require(try await server.waits(for: "listening at \(path)"), "\(server.errors)")
        return server
    }

    /// One sentence on standard error that names the path, and exit status 1.
    private func expectFailure(
        _ program: String, _ arguments: [String], naming path: String, patience: Duration = TestTimeout.wait
    ) async throws {
        let outcome = try await Program.run(program, arguments, in: scratch, patience: patience)
        #expect(outcome.status == 1)
        #expect(outcome.errors.hasPrefix("\(program): ") && outcome.errors.contains(path), "\(outcome.errors)")
        #expect(outcome.errors.split(separator: "\n").count == 1, "\(outcome.errors)")
    }

    /// A socket that accepts connections and never answers.
    private func listenSilently(at path: String) throws -> CInt {
        #if canImport(Glibc)
            let descriptor = socket(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0)
        #else
            let descriptor = socket(AF_UNIX, SOCK_STREAM, 0)
        #endif
        try #require(descriptor >= 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let size = socklen_t(MemoryLayout<sockaddr_un>.size)
        let result = withUnsafePointer(to: &address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, size) }
        }
        try #require(result == 0 && listen(descriptor, 8) == 0)
        return descriptor
    }
}
