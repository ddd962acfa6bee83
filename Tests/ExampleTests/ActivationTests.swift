import CPortShims
import Foundation
import TestSupport
import Testing

@Suite("A server started by a service manager")
struct ActivationTests {
    private let scratch: TemporaryFolder

    init() throws {
        scratch = try TemporaryFolder()
    }

    @Test("A server uses the socket it was passed, and leaves the socket's file to the service manager")
    func activated() async throws {
        let path = scratch.path("s")
        let socket = port_bind(path, 0o600)
        try #require(socket >= 0 && port_listen(socket, 8) == 0)
        // The client connects before the server starts.
        let client = try Program("FooBarClient", ["--path", path], in: scratch)
        let server = try start(socket, variables: ["LISTEN_FDS=1", "LISTEN_FDNAMES=foobar.socket"])
        let outcome = try await client.finish()
        #expect(outcome.status == 0, "\(outcome.errors)")
        #expect(try await eventually { !isAlive(server) })
        #expect(said.contains("FooBarServer: listening at \(path)"))
        #expect(said.contains("stopped, every table is empty"))
        #expect(FileManager.default.fileExists(atPath: path))
        port_process_await(server)
        var status: Int32 = -1
        #expect(port_process_reap(server, &status) == 1 && status == 0)
        port_close(socket)
    }

    @Test("Without a socket the server reports an error", arguments: [[], ["LISTEN_FDS=0"]])
    func nothingInActivation(variables: [String]) async throws {
        let server = try start(-1, variables: variables)
        #expect(try await eventually { !isAlive(server) })
        port_process_await(server)
        var status: Int32 = -1
        #expect(port_process_reap(server, &status) == 1 && status == 1)
        #expect(said.contains("No service manager has passed"), "\(said)")
    }

    private var said: String { (try? String(contentsOfFile: scratch.path("out"), encoding: .utf8)) ?? "" }

    /// The socket becomes descriptor 3; the shell writes its number, which stays the server's, into the environment.
    private func start(_ socket: CInt, variables: [String]) throws -> Int32 {
        let program = try builtProgram("FooBarServer")
        let script = "export LISTEN_PID=$$; exec \"$0\" --activated >\"$1\" 2>&1"
        let passed = socket < 0 ? -1 : port_duplicate(socket)
        defer { if passed >= 0 { port_close(passed) } }
        let null = port_open_null()
        defer { port_close(null) }
        var pid: pid_t = 0
        let path = ProcessInfo.processInfo.environment["PATH"] ?? "/bin:/usr/bin"
        let library = ProcessInfo.processInfo.environment["LD_LIBRARY_PATH"].map { ["LD_LIBRARY_PATH=\($0)"] } ?? []
        let status = Self.withStrings(["/bin/sh", "-c", script, program, scratch.path("out")]) { arguments in
            Self.withStrings(
                variables + ["PATH=\(path)", "FOOBAR_PATIENCE=\(TestTimeout.wait / .seconds(1))"] + library
            ) {
                environment in
                ([null, null, null] + (passed < 0 ? [] : [passed])).withUnsafeBufferPointer { descriptors in
                    var start = port_program_start(
                        arguments: arguments, environment: environment, directory: nil,
                        descriptors: descriptors.baseAddress, count: CInt(descriptors.count), group: PORT_GROUP_SHARED)
                    return port_spawn(&start, &pid)
                }
            }
        }
        try #require(status == 0)
        return pid
    }

    private static func withStrings<R>(
        _ strings: [String], _ body: (UnsafePointer<UnsafeMutablePointer<CChar>?>) -> R
    ) -> R {
        var pointers: [UnsafeMutablePointer<CChar>?] = strings.map { strdup($0) } + [nil]
        defer { for pointer in pointers { free(pointer) } }
        return pointers.withUnsafeMutableBufferPointer { body(UnsafePointer($0.baseAddress.unsafelyUnwrapped)) }
    }
}
