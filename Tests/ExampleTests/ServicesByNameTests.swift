import Foundation
import TestSupport
import Testing

@Suite("The FooBar example by name", .bounded())
struct ServicesByNameTests {
    private let scratch: TemporaryFolder

    init() throws { scratch = try TemporaryFolder() }

    /// A program of the package with a runtime folder of this test.
    private func program(_ name: String, _ arguments: String...) throws -> Program {
        try Program(
            "/usr/bin/env", ["XDG_RUNTIME_DIR=\(scratch.path)", try builtProgram(name)] + arguments, in: scratch)
    }

    @Test("A client finds a server by its name, starts it if it does not run, and the tool lists it")
    func serverByName() async throws {
        let server = try program("FooBarServer", "--name", "foo.bar")
        #expect(try await server.waits(for: "listening at foo.bar"))
        let listed = try await program("distant", "services").finish()
        #expect(
            listed.output == "foo.bar: running, process \(server.pid) (FooBarServer, version 1)\n" && listed.status == 0
        )
        let second = try await program("FooBarServer", "--name", "foo.bar").finish()
        #expect(second.status == 1 && second.errors.contains("process \(server.pid)"), "\(second.errors)")
        let client = try await program("FooBarClient", "--name", "foo.bar").finish()
        #expect(client.status == 0 && client.output.contains("found by the name foo.bar"), "\(client.errors)")
        #expect(try await server.finish().status == 0)

        // Nobody listens now, so the client starts a server, which it stops at its end.
        let alone = try await program("FooBarClient", "--name", "foo.bar").finish()
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
