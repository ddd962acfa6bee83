import TestSupport
import Testing

@Suite("The tour of FooBarClient and FooBarServer")
struct TourTests {
    private let scratch: TemporaryFolder

    init() throws {
        scratch = try TemporaryFolder()
    }

    @Test(
        "The client launches its server, and every step succeeds",
        arguments: [[], ["--over", "socketpair"], ["--over", "pipes"]])
    func launchedInTour(arguments: [String]) async throws {
        let outcome = try await Program.run("FooBarClient", arguments, in: scratch)
        #expect(outcome.status == 0, "\(outcome.errors)")
        expectTour(outcome)
        #expect((outcome.output + outcome.errors).contains("FooBarServer: stopped, every table is empty"))
    }

    @Test(
        "The client connects to a server at a socket, and the server ends with it",
        arguments: [[], ["--over", "socket"]])
    func atSocket(over: [String]) async throws {
        let path = scratch.path("s")
        let server = try Program("FooBarServer", ["--path", path], in: scratch)
        try #require(try await server.waits(for: "listening at \(path)"))
        let client = try await Program.run("FooBarClient", over + ["--path", path], in: scratch)
        #expect(client.status == 0, "\(client.errors)")
        expectTour(client)
        let outcome = try await server.finish()
        #expect(outcome.status == 0, "\(outcome.errors)")
        #expect(outcome.output.contains("FooBarServer: stopped, every table is empty"))
    }

    @Test("Both programs print help", arguments: ["FooBarClient", "FooBarServer"])
    func helpInTour(program: String) async throws {
        let outcome = try await Program.run(program, ["--help"], in: scratch)
        #expect(outcome.status == 0)
        #expect(outcome.output.hasPrefix("Usage: \(program)"))
        #expect(outcome.errors.isEmpty)
    }

    private func expectTour(_ outcome: Program.Outcome) {
        let lines = [
            "the Bar here now                  Juliana, 7; Nicolas, 3",
            "what came back                    Juliana, 8; Nicolas, 4",
            "the very same team as the first   true",
            "Alex is one object in both teams  true",
            "left when Juliana is removed      1",
            "the observer was notified of      Zoe",
            "it comes home as the original     true",
            "the server threw                  noSuchName(\"Nobody\")",
            "the server has noted              one, two, three",
            "0 objects given, 0 objects held, 0 questions, 0 answers",
        ]
        for line in lines { #expect(outcome.output.contains(line)) }
    }
}
