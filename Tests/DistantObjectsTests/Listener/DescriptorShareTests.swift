import DistantObjects
import TestSupport
import Testing

#if canImport(Glibc)
    import Glibc

    /// Processes that open as many connections as they get.
    @Suite("Shares of the descriptors", .bounded())
    struct DescriptorShareTests {
        /// The descriptors that this process may have, and half of them without the last ones.
        private static let (limit, half) = (200, (200 - 16) / 2)

        @Test("A process gets half of the descriptors, and makes room for one that has fewer connections")
        func processesInDescriptorShare() async {
            await #expect(processExitsWith: .success) {
                let server = try Server()
                // All at first: later only the last descriptors are left.
                let first = try await server.launch()
                let second = try await server.launch()
                let others = [try await server.launch(), try await server.launch(), try await server.launch()]
                #expect(try await first.open(server.path, Self.limit) as Int == Self.half)
                // It gets what is left, and then what the first one has more.
                let count: Int = try await second.open(server.path, Self.limit)
                #expect(count <= Self.half)
                await server.eventually { abs(try await first.count() as Int - (second.count() as Int)) <= 2 }
                // There is always room for one more.
                for other in others {
                    #expect(try await other.open(server.path, 1) as Int == 1)
                    try await other.use()
                }
                for hog in [first, second] { try await hog.use() }
                await server.close()
            }
        }

        @Test(
            "The processes of another user together get half of the descriptors",
            .enabled(if: geteuid() == 0, "only the superuser can become another one"))
        func usersInDescriptorShare() async {
            await #expect(processExitsWith: .success) {
                let server = try Server()
                let first = try await server.launch(as: 4_711)
                #expect(try await first.open(server.path, Self.half - 10) as Int == Self.half - 10)
                let second = try await server.launch(as: 4_711)
                #expect(try await second.open(server.path, Self.limit) as Int == 10)
                let own = try await server.launch()
                #expect(try await own.open(server.path, 10) as Int == 10)
                try await own.use()
                await server.close()
            }
        }

        /// A listener in a process with few descriptors.
        private final class Server: Sendable {
            private let place: TemporaryFolder
            private let listener: Listener
            private let serving: Task<Void, Never>

            var path: String { place.socket }

            init() throws {
                Usage.closeInheritedSockets()
                Usage.replaceDispatch()
                var limits = rlimit()
                getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limits)
                limits.rlim_cur = rlim_t(DescriptorShareTests.limit)
                setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limits)
                place = try TemporaryFolder()
                var configuration = Connection.Configuration.patient
                configuration.accept = .anyone
                listener = try Listener(at: .path(place.socket), configuration: configuration)
                // Other users may connect.
                chmod(place.path, 0o755)
                chmod(place.socket, 0o666)
                serving = Task { [listener] in
                    for await connection in listener { connection.vend(Directory()) }
                }
            }

            func launch(as user: UInt32? = nil) async throws -> DistantObject {
                let process = try await KilledProcess("killed-peer", over: .pipes)
                let hog = try await process.connection.root(named: "hog")
                if let user { #expect(try await hog.become(user) as Bool) }
                return hog
            }

            func eventually(_ condition: () async throws -> Bool) async {
                let deadline = ContinuousClock.now + TestTimeout.wait
                while await (try? condition()) != true {
                    guard ContinuousClock.now < deadline else {
                        Issue.record("the connections are not shared")
                        return
                    }
                    try? await Task.sleep(for: .milliseconds(1))
                }
            }

            func close() async {
                listener.close()
                await serving.value
            }
        }
    }
#endif
