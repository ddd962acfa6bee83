import Foundation
import TestSupport
import Testing

@Suite("The FooBar example by name", .bounded())
struct ServicesByNameTests {
    private let scratch: TemporaryFolder

    init() throws { scratch = try TemporaryFolder() }

    /// A program of the package that works in the folder of this test, which is its runtime folder, too.
    private func program(_ name: String, _ arguments: String...) throws -> Program {
        try Program(
            "/bin/sh",
            ["-c", "cd \"$0\" && XDG_RUNTIME_DIR=$0 exec \"$@\"", scratch.path, try builtProgram(name)] + arguments,
            in: scratch)
    }

    @Test("A client finds a server by its name, starts it if it does not run, and the tool lists it")
    func serverByName() async throws {
        let server = try program("FooBarServer", "--name", "foo.bar")
        #expect(try await server.waits(for: "listening at foo.bar"))
        let listed = try await program("distant", "services").finish()
        #expect(
            listed.output == "foo.bar: running, process \(server.pid) (FooBarServer, version 1)\n" && listed.status == 0
        )
        var roots = try await program("distant", "interfaces", "foo.bar").finish()
        while roots.isOfBusyMachine { roots = try await program("distant", "interfaces", "foo.bar").finish() }
        #expect(roots.status == 0 && roots.output.hasPrefix("root: "), "\(roots.errors)")
        let second = try await program("FooBarServer", "--name", "foo.bar").finish()
        #expect(second.status == 1 && second.errors.contains("process \(server.pid)"), "\(second.errors)")
        let client = try await program("FooBarClient", "--name", "foo.bar").finish()
        #expect(client.status == 0 && client.output.contains("found by the name foo.bar"), "\(client.errors)")
        #expect(try await server.finish().status == 0)

        // Nobody listens now, so the client starts a server, which it stops at its end.
        var alone = try await program("FooBarClient", "--name", "foo.bar").finish()
        // The library's limit for the start may be too short on a busy machine.
        while alone.errors.contains("did not listen within") {
            alone = try await program("FooBarClient", "--name", "foo.bar").finish()
        }
        #expect(alone.status == 0, "\(alone.errors)")
        var left = ""
        #expect(
            try await eventually {
                left =
                    (try? FileManager.default.contentsOfDirectory(atPath: self.scratch.path("distant")))?.joined()
                    ?? "?"
                return left.isEmpty
            }, "\(left)")
        let none = try await program("distant", "services").finish()
        #expect(none.output.isEmpty && none.status == 0)
    }

    @Test("The tool lists the messages of a service by each spelling of its address, and starts a program for it")
    func interfacesByAddress() async throws {
        let server = try program("FooBarServer", "--path", "a b.sock")
        #expect(try await server.waits(for: "listening at"))
        let spellings = [
            "a b.sock", "./a b.sock", "unix:a b.sock", scratch.path("a b.sock"),
            "exec:\(try builtProgram("FooBarServer"))",
        ]
        var outputs: Set<String> = []
        for spelling in spellings {
            var roots = try await program("distant", "interfaces", spelling).finish()
            while roots.isOfBusyMachine { roots = try await program("distant", "interfaces", spelling).finish() }
            #expect(roots.status == 0 && roots.output.hasPrefix("root: "), "\(spelling): \(roots.errors)")
            outputs.insert(roots.output)
        }
        #expect(outputs.count == 1, "\(outputs)")
        for spelling in ["no.such.service", "up:x", "exec:", "./none", "exec:/none"] {
            let roots = try await program("distant", "interfaces", spelling).finish()
            #expect(roots.status == 1 && roots.output.isEmpty && roots.errors.hasPrefix("distant: "), "\(spelling)")
        }
        kill(server.pid, SIGTERM)
        _ = try await server.finish()
    }

    @Test("Without a folder for services the programs say what is missing")
    func noFolderOfServices() async throws {
        for arguments in [["FooBarServer", "--name", "x"], ["FooBarClient", "--name", "x"], ["distant", "services"]] {
            let outcome = try await Program(
                "/usr/bin/env", ["XDG_RUNTIME_DIR=/none", try builtProgram(arguments[0])] + arguments.dropFirst(),
                in: scratch
            ).finish()
            #expect(outcome.status == 1 && outcome.output.isEmpty, "\(arguments)")
            #expect(outcome.errors.contains("/none, which XDG_RUNTIME_DIR names, does not exist"), "\(outcome.errors)")
        }
    }
}
