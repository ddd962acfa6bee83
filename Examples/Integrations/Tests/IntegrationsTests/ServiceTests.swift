import DistantObjects
import Foundation
import Integrations
import LineSorting
import Logging
import ServiceLifecycle
import Synchronization
import Testing

@Suite("Services of swift-service-lifecycle")
struct ServiceTests {
    @Test("A service that gets SIGTERM answers the call under way, takes no new one, and exits in order")
    func terminated() async throws {
        let folder = try TemporaryFolder()
        let socket = folder.path("sorter.sock")
        let pipe = folder.path("pipe")
        try #require(mkfifo(pipe, 0o600) == 0)
        let service = try RunningProgram("line-sorter", ["serve", "--at", socket, "--grace", "300"], in: folder)
        try await eventually("the service listens: \(service.log)") { service.log.contains("listening at") }
        let connection = try await Connection.open(.path(socket), configuration: .patient)
        let sorter = try await connection.root(as: SorterInterface.self)
        let call = Task { try await sorter.sortFile(pipe) }
        // The worker has opened the pipe when it can be opened for writing without a wait.
        let descriptor = Mutex<CInt>(-1)
        try await eventually("the call runs") {
            descriptor.withLock { $0 = open(pipe, O_WRONLY | O_NONBLOCK | O_CLOEXEC) };
            return descriptor.withLock { $0 } >= 0
        }
        service.terminate()
        try await eventually("it takes no new connection") { !FileManager.default.fileExists(atPath: socket) }
        await #expect(throws: ConnectionError.self) { try await Connection.open(.path(socket)) }
        var lines = RandomLines()
        let text = lines.text(3_000)
        try FileHandle(fileDescriptor: descriptor.withLock { $0 }, closeOnDealloc: true).write(contentsOf: text)
        #expect(try await call.value == text.expectedLines)
        let end = await connection.ended
        #expect(end.isOrderly, "\(end)")
        #expect(await service.status() == 0, "\(service.log)")
    }

    @Test("A group ends with the reason if its helper is given up")
    func givenUp() async throws {
        let helper = Helper(SorterInterface.self, "/bin/false", restart: .never)
        let folder = try TemporaryFolder()
        let listener = try Listener(at: .path(folder.path("s")), configuration: .patient)
        let events = Mutex<[String]>([])
        let group = ServiceGroup(
            services: [
                HelperService(helper) { event in events.withLock { $0.append("\(event)") } },
                ListenerService(listener) { _ in },
            ], logger: Logger(label: "test"))
        helper.start()
        let error = await #expect(throws: HelperGivenUp.self) { try await group.run() }
        #expect(error?.reason.contains("status 1") == true, "\(String(describing: error))")
        #expect(events.withLock { $0.last }?.hasPrefix("was given up") == true)
        await listener.ended
    }

    @Test("A group that shuts down stops its helper's process")
    func helperStops() async throws {
        let helper = Helper(SorterInterface.self, try builtProgram("line-sorter-worker"))
        let group = ServiceGroup(services: [HelperService(helper)], logger: Logger(label: "test"))
        let running = Task { try await group.run() }
        _ = try await helper.running()
        let child = try #require(helper.connection?.child)
        await group.triggerGracefulShutdown()
        try await running.value
        #expect(kill(child.pid, 0) == -1 && errno == ESRCH)
        await #expect(throws: ConnectionError.self) { try await helper.remote.sort(Data()) }
    }
}
