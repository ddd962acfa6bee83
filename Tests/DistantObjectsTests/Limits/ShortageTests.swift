import DistantObjects
import PortTransport
import TestSupport
import Testing

#if canImport(FoundationEssentials)
    import FoundationEssentials
    import Glibc
#else
    import Foundation
#endif

/// A folder of its own file system, which is soon full; it ends with this object.
///
/// Only the superuser can make one.
private final class SmallFolder: Sendable {
    let path: String
    private let parent: TemporaryFolder
    private let process: ChildProcess
    /// The shell removes the file system when its input ends, so also if this process is killed.
    private let input: ChannelEndpoint

    /// - Parameter options: How much it holds, as `mount` takes it.
    init(_ options: String) async throws {
        parent = try TemporaryFolder()
        let path = parent.path("small")
        self.path = path
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        (process, input) = try ChildProcess.launch(
            "/bin/sh",
            arguments: [
                "-c", "mount -t tmpfs -o mode=0700,\(options) tmpfs \"$0\" && : >\"$0/there\" && cat; umount -l \"$0\"",
                path,
            ], over: .pipes)
        let process = process
        await eventually("it is mounted") { access("\(path)/there", F_OK) == 0 || process.exitStatus != nil }
        try #require(process.exitStatus == nil)
    }

    @Sendable static func isPossible() async -> Bool {
        guard geteuid() == 0 else { return false }
        return (try? await SmallFolder("size=4k")) != nil
    }

    /// Makes files of a page, or without content, until there is no room for another one.
    func fill(hasContent: Bool) throws {
        let page = [UInt8](repeating: 1, count: 4_096)
        for number in 0... {
            let file = open("\(path)/fill\(number)", O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
            if file < 0 {
                try #require(errno == ENOSPC)
                return
            }
            defer { close(file) }
            if hasContent, write(file, page, page.count) < 0 {
                try #require(errno == ENOSPC)
                return
            }
        }
    }

    func clear() throws {
        for name in try FileManager.default.contentsOfDirectory(atPath: path) where name.hasPrefix("fill") {
            try FileManager.default.removeItem(atPath: "\(path)/\(name)")
        }
    }
}

@Suite("When the system runs out of something", .bounded())
struct ShortageTests {
    private static func expectFailure(_ body: () async throws -> Void, _ what: String, errno number: CInt) async {
        do {
            try await body()
            Issue.record("\(what) was done")
        } catch let error as ConnectionError {
            let cause = error.underlying as? TransportError
            #expect(error.code == .transport && cause?.errno == number, "\(what): \(error), \(cause as Any)")
        } catch {
            Issue.record("\(what): \(error)")
        }
    }

    @Test("Without free descriptors nothing is opened, what is open goes on, and all can be opened again afterwards")
    func noDescriptors() async {
        await #expect(processExitsWith: .success) {
            #if canImport(Glibc)
                TaskThreads.replaceDispatch()
            #endif
            do {
                let folder = try TemporaryFolder()
                let seed = TestSeed.next()
                var generator = SeededGenerator(seed: seed)
                let bytes = (0..<30_000).map { _ in UInt8(truncatingIfNeeded: generator.next()) }
                var options = HelperOptions()
                options.arguments = ["crash"]
                options.configuration = .patient
                let program = try builtProgram("killed-peer")
                let helper = Helper(CrasherInterface.self, program, options: options)
                #expect(try await helper.remote.echo(bytes) == bytes)
                let listener = try Listener(at: .path(folder.socket), configuration: .patient)
                let ways: [(String, @Sendable () async throws -> Void)] = [
                    ("a pair", { await (try Connection.pair(first: .patient, second: .patient)).0.close() }),
                    (
                        "a connection",
                        { await (try Connection.open(.path(folder.socket), configuration: .patient)).close() }
                    ),
                    (
                        "a program",
                        {
                            await (try Connection.launch(program, arguments: ["crash"], configuration: .patient))
                                .close()
                        }
                    ),
                    (
                        "a program over pipes",
                        {
                            let connection = try await Connection.launch(
                                program, arguments: ["crash"], over: .pipes, configuration: .patient)
                            await connection.close()
                        }
                    ),
                    ("a listener", { try Listener(at: .path(folder.path("other")), configuration: .patient).close() }),
                ]
                #expect(systemLimitDescriptors(256))
                var filling: [CInt] = []
                while case let copy = dup(0), copy >= 0 { filling.append(copy) }
                for (what, open) in ways { await Self.expectFailure(open, what, errno: EMFILE) }
                #expect(try await helper.remote.echo(bytes) == bytes, "seed \(seed)")
                for descriptor in filling { close(descriptor) }
                let serving = Task { for await connection in listener { _ = connection } }
                for (what, open) in ways {
                    do { try await open() } catch { Issue.record("\(what), afterwards: \(error)") }
                }
                #expect(try await helper.remote.echo(bytes) == bytes, "seed \(seed)")
                await helper.stop()
                listener.close()
                await serving.value
            } catch { Issue.record("\(error)") }
        }
    }

    #if canImport(Glibc)
        enum Limit: CaseIterable {
            /// As by `ulimit -f`. Memory that is shared is a file, and without care its maker would end by a signal.
            case fileSize
            /// As by `ulimit -v`.
            case addressSpace

            var resource: __rlimit_resource_t {
                __rlimit_resource_t(self == .fileSize ? RLIMIT_FSIZE.rawValue : RLIMIT_AS.rawValue)
            }

            /// Bytes that leave no room for memory that is shared.
            var bytes: Int { self == .fileSize ? 60_000 : Usage.addressSpace + 60_000 }

            /// Keeps enough of the heap for everything else.
            static func prepare() throws {
                // Glibc's module does not have it.
                let mallopt = unsafeBitCast(
                    try #require(dlsym(nil, "mallopt")), to: (@convention(c) (CInt, CInt) -> CInt).self)
                // One arena, no block outside it, and nothing given back.
                for option: CInt in [-8, -3, -1] { #expect(mallopt(option, option == -8 ? 1 : 1 << 29) == 1) }
                free(malloc(128 << 20))
            }
        }

        @Test("Where no file may have content nobody listens, and the process learns why instead of ending by a signal")
        func noFileSize() async {
            await #expect(processExitsWith: .success) {
                do {
                    let folder = try TemporaryFolder()
                    let listen: @Sendable () throws -> Void = {
                        try Listener(at: .path(folder.socket), configuration: .patient).close()
                    }
                    var limit = rlimit()
                    #expect(getrlimit(Limit.fileSize.resource, &limit) == 0)
                    let former = limit
                    limit.rlim_cur = 10
                    #expect(setrlimit(Limit.fileSize.resource, &limit) == 0)
                    await Self.expectFailure(listen, "listening", errno: EFBIG)
                    #expect(setrlimit(Limit.fileSize.resource, [former]) == 0)
                    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
                    try listen()
                } catch { Issue.record("\(error)") }
            }
        }

        @Test(
            "Without room for shared memory, connections and what they send go through the socket until there is room",
            .disabled(if: Sanitizer.isActive, "sanitizers need more memory than that"), arguments: [true, false])
        func noSharedMemory(isOfFiles: Bool) async {
            await #expect(processExitsWith: .success) { [isOfFiles] in
                let limit: Limit = isOfFiles ? .fileSize : .addressSpace
                let seed = TestSeed.next()
                var generator = SeededGenerator(seed: seed)
                // A message that does not fit into a frame has memory of its own, and is refused without it.
                let contents = (isOfFiles ? [40_000, 3 << 20] : [40_000]).map { count in
                    (0..<count).map { _ in UInt8(truncatingIfNeeded: generator.next()) }
                }
                /// Sends each content there and back, before and after the time when memory is shared, if it is.
                @Sendable func exchange(shares: Bool) async throws {
                    var configuration = Connection.Configuration.patient
                    configuration.sharesMemoryAtOnce = true
                    let (client, server) = try await Connection.pair(
                        over: .socketpair, first: configuration, second: configuration)
                    server.vend(BlobServer())
                    let root = try await client.root
                    for (turn, content) in (contents + contents).enumerated() {
                        if shares, turn == contents.count {
                            await eventually("memory is shared") { client.isInSharedMemory && server.isInSharedMemory }
                        }
                        let back: SharedBytes = try await root.echo(SharedBytes(content))
                        #expect(back.withUnsafeBytes { $0.elementsEqual(content) }, "seed \(seed)")
                    }
                    #expect(client.isInSharedMemory == shares)
                    await client.close()
                    await server.close()
                }
                do {
                    try await exchange(shares: true)
                    try Limit.prepare()
                    var old = rlimit()
                    getrlimit(limit.resource, &old)
                    var low = old
                    low.rlim_cur = rlim_t(limit.bytes)
                    #expect(setrlimit(limit.resource, &low) == 0)
                    try await exchange(shares: false)
                    #expect(setrlimit(limit.resource, &old) == 0)
                    try await exchange(shares: true)
                } catch { Issue.record("\(error)") }
            }
        }
    #endif

    @Test(
        "In a full folder a service is refused and leaves nothing, one that runs goes on, and there is room later",
        .enabled("it needs a file system of its own", SmallFolder.isPossible), arguments: [true, false])
    func fullFolder(hasContent: Bool) async {
        await #expect(processExitsWith: .success) { [hasContent] in
            do {
                let folder = try await SmallFolder(hasContent ? "size=64k" : "nr_inodes=16")
                setenv("XDG_RUNTIME_DIR", folder.path, 1)
                let running = try Listener(at: .service("running"), configuration: .patient)
                let serving = Task {
                    for await connection in running { connection.vend(Directory()) }
                }
                let names = { try FileManager.default.contentsOfDirectory(atPath: "\(folder.path)/distant").sorted() }
                let before = try names()
                try folder.fill(hasContent: hasContent)
                do {
                    _ = try Listener(at: .service("late"), configuration: .patient)
                    Issue.record("there was room")
                } catch let error as ConnectionError {
                    let cause = error.underlying as? TransportError
                    #expect(error.code == .transport && cause?.errno == ENOSPC, "\(error), \(cause as Any)")
                }
                #expect(try names() == before)
                let client = try await Connection.open(.service("running"), configuration: .patient)
                let answer: DistantObject = try await client.root.fresh()
                #expect(try await client.root != answer)
                await client.close()
                try folder.clear()
                let late = try Listener(at: .service("late"), configuration: .patient)
                #expect(try RegisteredService.all().map(\.name) == ["late", "running"])
                late.close()
                running.close()
                await serving.value
                #expect(try names().isEmpty)
            } catch { Issue.record("\(error)") }
        }
    }
}
