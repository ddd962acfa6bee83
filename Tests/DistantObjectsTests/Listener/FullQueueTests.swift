import CPortShims
import DistantObjects
import TestSupport
import Testing

#if canImport(Glibc)
    import Glibc

    /// Listeners that accept no connections until their queue is full.
    ///
    /// Apple's systems refuse such a connection as if no process listened.
    @Suite("A listener whose queue is full", .bounded())
    struct FullQueueTests {
        /// A socket that listens at a path, with a full queue.
        final class FullListener: @unchecked Sendable {  // Its parts never change.
            let place: TemporaryFolder
            let descriptor: CInt
            private let waiting: [CInt]

            init() throws {
                place = try TemporaryFolder()
                descriptor = port_bind(place.socket, 0o600)
                try #require(port_listen(descriptor, 1) == 0)
                var waiting: [CInt] = []
                while waiting.count < 64 {
                    let next = port_connect(place.socket)
                    guard next >= 0 else { break }
                    waiting.append(next)
                }
                try #require(errno == EAGAIN && !waiting.isEmpty && waiting.count < 64)
                self.waiting = waiting
            }

            deinit { for descriptor in waiting + [descriptor] { port_close(descriptor) } }

            /// The process at the other end goes on: all that wait are accepted, and this is the next one.
            func acceptNext() async throws -> CInt {
                for _ in waiting { port_close(port_accept(descriptor)) }
                var next: CInt = -1
                await eventually("somebody else connects") {
                    next = port_accept(descriptor)
                    return next >= 0
                }
                return next
            }
        }

        static func isBusy(_ body: () async throws -> Void) async -> Bool {
            do {
                try await body()
                return false
            } catch {
                let underlying = (error as? ConnectionError)?.underlying as? TransportError
                return underlying?.code == .listenerBusy
            }
        }

        @Test("Opening gives up after its time-out, or the handshake's if that is longer, and blocks no thread")
        func limitsInFullQueue() async throws {
            let clogged = try FullListener()
            let path = clogged.place.socket
            var configuration = Connection.Configuration.patient
            configuration.handshakeTimeout = .milliseconds(20)
            // More than there are threads for tasks, so the test would hang if each blocked a thread.
            await withTaskGroup(of: Bool.self) { [configuration] group in
                for index in 0..<64 {
                    let timeout: Duration = index % 2 == 0 ? .zero : .milliseconds(30)
                    group.addTask {
                        await Self.isBusy {
                            _ = try await Connection.open(
                                .path(path), timeout: timeout, configuration: configuration)
                        }
                    }
                }
                for await isBusy in group { #expect(isBusy) }
            }
        }

        @Test("A cancelled task stops waiting")
        func cancelledInFullQueue() async throws {
            let clogged = try FullListener()
            let opening = Task {
                try await Connection.open(.path(clogged.place.socket), timeout: .seconds(3_600))
            }
            opening.cancel()
            await #expect(throws: CancellationError.self) { try await opening.value }
        }

        @Test("Opening succeeds once there is room")
        func roomInFullQueue() async throws {
            let clogged = try FullListener()
            async let opened = Connection.open(
                .path(clogged.place.socket), timeout: .seconds(3_600), configuration: .patient)
            let server = try await Connection.adopt(
                socket: try await clogged.acceptNext(), isInitiator: false, configuration: .patient)
            server.vend(Directory())
            let client = try await opened
            let back: Int = try await client.root.echo(1)
            #expect(back == 1)
            await client.close()
            await server.close()
        }

        @Test("A second listener sees that the path is in use, and does not wait")
        func listeningInFullQueue() throws {
            let clogged = try FullListener()
            let error = #expect(throws: ConnectionError.self) { try Listener(at: .path(clogged.place.socket)) }
            #expect((error?.underlying as? TransportError)?.code == .nameTaken)
        }
    }
#endif
