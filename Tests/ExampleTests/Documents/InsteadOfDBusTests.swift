import DistantObjects
import FooBar
import Foundation
import PortTransport
import Synchronization
import TestSupport
import Testing

@Suite("The code of the guide for programs that use D-Bus", .bounded())
struct InsteadOfDBusTests {
    @Test("A service by name: objects, errors, signals as streams and as messages, and properties")
    func insteadOfDBus() async {
        // The folder of services is the process's.
        await #expect(processExitsWith: .success) {
            let folder = try TemporaryFolder()
            setenv("XDG_RUNTIME_DIR", folder.path, 1)
            let backup = InsteadOfDBusCode.Backup()
            Task { try await InsteadOfDBusCode.serve(backup) }
            await ConnectionAddress.service("com.example.Backup1").isServed()
            let client = InsteadOfDBusCode.client("/none/such")
            #expect(try await InsteadOfDBusCode.start(client, folder.path) == folder.path)
            #expect(await InsteadOfDBusCode.failure(client, folder.path) == folder.path)
            #expect(await InsteadOfDBusCode.failure(client, "/none") == "there is no folder /none")
            #expect(try await client.remote.running() == 1)

            let counts = Mutex<[Int]>([])
            let names = Mutex<[String]>([])
            let observing = Task {
                try await InsteadOfDBusCode.observe(client) { count in
                    counts.withLock { $0.append(count) }
                    return counts.withLock { $0.count } < 3
                }
            }
            let listening = Task {
                try await InsteadOfDBusCode.listen(client) { job in
                    names.withLock { $0.append("\(job.folder) \(job.files)") }
                    return false
                }
            }
            let watcher = InsteadOfDBusCode.Watcher()
            let (ends, end) = AsyncStream<Void>.makeStream()
            try await InsteadOfDBusCode.watch(client, watcher) { end.yield() }
            // The tasks may not have begun to listen.
            while counts.withLock({ $0.count }) < 3 || names.withLock(\.isEmpty) {
                _ = try await InsteadOfDBusCode.start(client, folder.path)
            }
            try await observing.value
            try await listening.value
            #expect(names.withLock { $0 } == ["\(folder.path) 3"])
            let changes = counts.withLock { $0 }
            #expect(zip(changes, changes.dropFirst()).allSatisfy { abs($0 - $1) == 1 }, "\(changes)")
            while watcher.seen.withLock({ $0.isEmpty }) { await Task.yield() }
            await client.stop()
            #expect(await ends.first { true } != nil)
        }
    }

    @Test("A listener that replaces a policy of the bus refuses other users")
    func policyInsteadOfDBus() async throws {
        let own = PeerCredentials.current.uid
        let scratch = try TemporaryFolder()
        for admitted in [own, own + 1] {
            let configuration = InsteadOfDBusCode.admit([admitted]).withLongTimeouts
            let listener = try Listener(at: .path(scratch.path("\(admitted)")), configuration: configuration)
            let opening = Task { try await Connection.open(listener.address, configuration: .patientExample) }
            switch await opening.result {
            case .success(let connection):
                #expect(admitted == own)
                await connection.close()
            case .failure(let error):
                #expect(admitted != own && (error as? ConnectionError)?.code == .peerRefused, "\(error)")
            }
            listener.close()
        }
    }
}
