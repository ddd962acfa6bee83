// swift-format-ignore-file
// It is laid out as InsteadOfDBus.md shows it.

import DistantObjects
import Foundation
import Synchronization

/// The code of InsteadOfDBus.md.
enum InsteadOfDBusCode {
    // InsteadOfDBus.md: interfaces
    struct BackupInterface: Interface {
        let start = Signature<Remote<JobInterface>, String>("start")
        let running = Signature<Int>("running")
        let runningChanges = Signature<DistantStream<Int>>("runningChanges")
        let finished = Signature<DistantStream<Finished>>("finished")
        let watch = Signature<Void, Remote<WatcherInterface>>("watch")
        static var errors: [any (Error & Codable).Type] { [BackupError.self] }
    }

    struct JobInterface: Interface {
        let folder = Signature<String>("folder")
        let finish = Signature<Void, Int>("finish")
    }

    struct WatcherInterface: Interface {
        let finished = Signature<Void, Finished>("finished")
    }

    struct Finished: Codable, Sendable {
        var folder: String
        var files: Int
    }

    enum BackupError: Error, Codable {
        case noSuchFolder(String)
    }
    // end

    // InsteadOfDBus.md: broadcast
    /// Sends each value to all who listen at the moment.
    final class Broadcast<Value: Sendable>: Sendable {
        private let listeners = Mutex<[UUID: AsyncStream<Value>.Continuation]>([:])

        func send(_ value: Value) {
            listeners.withLock { for listener in $0.values { listener.yield(value) } }
        }

        func values(after first: Value? = nil) -> AsyncStream<Value> {
            // One who reads slowly gets the last hundred.
            AsyncStream(bufferingPolicy: .bufferingNewest(100)) { listener in
                let id = UUID()
                listener.onTermination = { _ in self.listeners.withLock { _ = $0.removeValue(forKey: id) } }
                listeners.withLock { $0[id] = listener }
                if let first { listener.yield(first) }
            }
        }
    }
    // end

    // InsteadOfDBus.md: service
    final class Backup: Vendable, Implements {
        typealias I = BackupInterface

        static var messages: MessageTable<Backup> {
            Message(\I.start, Backup.start)
            Message(\I.running, Backup.runningJobs)
            Message(\I.runningChanges, Backup.runningChanges)
            Message(\I.finished, Backup.finishedJobs)
            Message(\I.watch, Backup.watch)
        }

        private let count = Mutex(0)
        private let changes = Broadcast<Int>()
        private let ends = Broadcast<Finished>()
        private let watchers = Mutex<[Remote<WatcherInterface>]>([])

        func start(_ folder: String) throws -> Job {
            guard FileManager.default.fileExists(atPath: folder) else { throw BackupError.noSuchFolder(folder) }
            changeCount(by: 1)
            return Job(folder, of: self)
        }

        func runningJobs() -> Int { count.withLock { $0 } }
        func finishedJobs() -> AsyncStream<Finished> { ends.values() }

        func runningChanges() -> AsyncStream<Int> {
            count.withLock { changes.values(after: $0) }
        }

        func watch(_ watcher: Remote<WatcherInterface>) {
            watchers.withLock { $0.append(watcher) }
            watcher.onEnd { [self] _ in watchers.withLock { $0.removeAll { $0 == watcher } } }
        }

        func finished(_ folder: String, _ files: Int) {
            changeCount(by: -1)
            let news = Finished(folder: folder, files: files)
            ends.send(news)
            for watcher in watchers.withLock({ $0 }) { _ = try? watcher.finished.offer(news) }
        }

        private func changeCount(by difference: Int) {
            count.withLock { count in
                count += difference
                changes.send(count)
            }
        }
    }

    final class Job: Vendable, Implements {
        typealias I = JobInterface
        private let path: String
        private let backup: Backup

        static var messages: MessageTable<Job> {
            Message(\I.folder, Job.folder)
            Message(\I.finish, Job.finish)
        }

        init(_ path: String, of backup: Backup) {
            self.path = path
            self.backup = backup
        }

        func folder() -> String { path }
        func finish(_ files: Int) { backup.finished(path, files) }
    }
    // end

    static func serve(_ backup: Backup) async throws {
        // InsteadOfDBus.md: serve
        let listener = try Listener(at: .service("com.example.Backup1"))
        listener.closeWhenIdle(for: .seconds(60))
        for await connection in listener { try connection.vend(backup) }
        await listener.ended
        // end
    }

    static func client(_ program: String) -> Helper<BackupInterface> {
        // InsteadOfDBus.md: client
        let address = ConnectionAddress.service("com.example.Backup1", launching: program)
        let backup = Helper(BackupInterface.self, name: "backup") { try await Connection.open(address) }
        // end
        return backup
    }

    static func start(_ backup: Helper<BackupInterface>, _ folder: String) async throws -> String {
        // InsteadOfDBus.md: start
        let job = try await backup.remote.start(folder)
        let path = try await job.folder()
        try await job.finish(3)
        // end
        return path
    }

    static func listen(_ backup: Helper<BackupInterface>, _ show: (Finished) -> Bool) async throws {
        // InsteadOfDBus.md: signal
        for try await job in try await backup.remote.finished() {
            if !show(job) { break }
        }
        // end
    }

    static func observe(_ backup: Helper<BackupInterface>, _ show: (Int) -> Bool) async throws {
        // InsteadOfDBus.md: property
        for try await count in try await backup.remote.runningChanges() {
            if !show(count) { break }
        }
        // end
    }

    // InsteadOfDBus.md: watcher
    final class Watcher: Vendable, Implements {
        typealias I = WatcherInterface

        static var messages: MessageTable<Watcher> {
            Message(\I.finished, Watcher.finished)
        }

        func finished(_ job: Finished) { seen.withLock { $0.append(job.folder) } }

        let seen = Mutex<[String]>([])
    }
    // end

    static func watch(_ backup: Helper<BackupInterface>, _ watcher: Watcher, _ gone: @escaping @Sendable () -> Void) async throws {
        // InsteadOfDBus.md: watch
        let service = try await backup.running()
        try await service.watch(Remote(vending: watcher))
        service.onEnd { _ in gone() }
        // end
    }

    static func failure(_ backup: Helper<BackupInterface>, _ folder: String) async -> String {
        // InsteadOfDBus.md: error
        do {
            return try await backup.remote.start(folder).folder()
        } catch BackupError.noSuchFolder(let path) {
            return "there is no folder \(path)"
        } catch {
            return "\(error)"
        }
        // end
    }

    static func admit(_ admitted: Set<UInt32>) -> Connection.Configuration {
        // InsteadOfDBus.md: policy
        var configuration = Connection.Configuration()
        configuration.accept = Connection.AcceptRule { peer in
            guard let peer, admitted.contains(peer.uid) else { return "only some users are served here" }
            return nil
        }
        // end
        return configuration
    }
}
