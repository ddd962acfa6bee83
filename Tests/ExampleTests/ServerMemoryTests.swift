#if os(Linux)
    import DistantObjects
    import FooBar
    import Foundation
    import TestSupport
    import Testing

    @Suite("Memory of FooBarServer", .disabled(if: Sanitizer.isActive, "it keeps memory that is freed"))
    struct ServerMemoryTests {
        private let scratch: TemporaryFolder

        init() throws {
            scratch = try TemporaryFolder()
        }

        @Test("A server leaks no memory for clients and the graphs they send")
        func served() async throws {
            let path = scratch.path("s")
            // How many arenas the allocator uses depends on how many threads allocate at the same time.
            let server = try Program(
                "/usr/bin/env", ["MALLOC_ARENA_MAX=1", try builtProgram("FooBarServer"), "--path", path], in: scratch)
            try #require(try await server.waits(for: "listening at \(path)"), "\(server.errors)")
            let idle = socketCount(of: server)
            // The first ones fill the caches.
            for _ in 0..<500 { try await visit(path) }
            let before = try await restingSize(of: server, idle)
            let clients = 1500
            for _ in 0..<clients { try await visit(path) }
            let growth = try await restingSize(of: server, idle) - before
            #expect(growth < clients / 2, "\(growth) KiB for \(clients) clients")
        }

        /// Connects, sends a graph with cycles and gets it back, and disconnects.
        private func visit(_ path: String) async throws {
            let connection = try await Connection.open(.path(path), configuration: .patientExample)
            let teams = ["Reds", "Blues"].map { Team(name: $0, players: Bar().foos) }
            (teams[0].rival, teams[1].rival) = (teams[1], teams[0])
            let directory = try await connection.root
            for _ in 0..<4 {
                let league: League = try await directory.mirror(League(teams: teams))
                #expect(league.teams[0].rival === league.teams[1])
            }
            await connection.close(timeout: TestTimeout.wait)
        }

        /// The server's own memory in KiB, once it has closed every connection.
        private func restingSize(of server: Program, _ idle: Int) async throws -> Int {
            let isAtRest = try await eventually { socketCount(of: server) <= idle }
            #expect(isAtRest)
            let status = try String(contentsOfFile: "/proc/\(server.pid)/status", encoding: .utf8)
            return try #require(status.firstMatch(of: /RssAnon:\s*(\d+) kB/).flatMap { Int($0.1) })
        }

        /// The number of sockets that it has open.
        private func socketCount(of server: Program) -> Int {
            let folder = "/proc/\(server.pid)/fd"
            let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
            return names.count {
                (try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/\($0)"))?
                    .hasPrefix("socket:") == true
            }
        }
    }
#endif
