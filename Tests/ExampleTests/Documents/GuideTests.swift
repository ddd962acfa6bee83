import DistantObjects
import FooBar
import Foundation
import Synchronization
import TestSupport
import Testing
import WordCountValues

@Suite("The code of the guides")
struct GuideTests {
    @Test("The module: one process vends an object, the other calls it")
    func module() async throws {
        let scratch = try TemporaryFolder()
        let serving = Task { try await DistantObjectsCode.serve(at: scratch.path("s")) }
        let greeting = try await Self.repeated(while: { $0.isOfBusyMachine || $0.code == .transport }) {
            try await DistantObjectsCode.call(at: scratch.path("s"))
        }
        #expect(greeting == "Hello, Ada")
        try await withConnection(.open(.path(scratch.path("s")), configuration: .patientExample)) { connection in
            let greeting = try await DistantObjectsCode.callDynamically(connection)
            #expect(greeting == "Hello, Ada")
        }
        serving.cancel()
        try await serving.value
    }

    @Test("Where your code runs: a lock, an actor, calls in a row, a deadline")
    func whereCodeRuns() async throws {
        let (client, server) = try await Connection.pair(first: .patientExample, second: .patientExample)
        server.vend(["": WhereCodeRunsCode.Account(), "journal": WhereCodeRunsCode.Journal()])
        let account = try await client.root(as: WhereCodeRunsCode.AccountInterface.self)
        #expect(try await WhereCodeRunsCode.run(account, over: client) == 5_050)
        let journal = try await client.root(named: "journal")
        try await journal.write("first")
        let lines: [String] = try await journal.lines()
        #expect(lines == ["first"])
        server.vend(WhereCodeRunsCode.Ledger(), as: "ledger")
        let ledger = try await client.root(named: "ledger")
        let entries: [Int] = [try await ledger.enter(2), try await ledger.enter(3)]
        #expect(entries == [2, 5])
        // Two seconds may pass on a busy machine.
        do {
            #expect(try await WhereCodeRunsCode.wait(account) == 5_055)
            let branch = Remote(local: WhereCodeRunsCode.Branch(account))
            #expect(try await WhereCodeRunsCode.trace(branch, "1") == 5_056)
            #expect(try await branch.deposit(4) == 5_060)
        } catch let error as ConnectionError where error.isOfBusyMachine {}
        await client.close()
    }

    @Test("Where your code runs: a thread without a task makes blocking calls, and a task cannot")
    func blockingInGuide() async throws {
        let scratch = try TemporaryFolder()
        let path = scratch.path("s")
        let listener = try Listener(at: .path(path), configuration: .patientExample)
        let serving = Task {
            for await connection in listener { try connection.vend(WhereCodeRunsCode.Account()) }
        }
        let error = #expect(throws: ConnectionError.self) { try WhereCodeRunsCode.block(path) }
        #expect(error?.code == .wouldBlock)
        let balance: Result<Int, any Error> = await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                while true {
                    let result = Result { try WhereCodeRunsCode.block(path) }
                    if case .failure(let error as ConnectionError) = result, error.isOfBusyMachine { continue }
                    return continuation.resume(returning: result)
                }
            }
        }
        #expect(try balance.get() == 5)
        listener.close()
        try await serving.value
    }

    @Test("By copy and by reference: a class that is both, and a replacement")
    func copyAndReference() async throws {
        let (client, server) = try await Connection.pair(first: .patientExample, second: .patientExample)
        let screen = CopyAndReferenceCode.Screen()
        server.vend([
            "": CopyAndReferenceCode.Library(), "bank": CopyAndReferenceCode.Bank(), "screen": screen,
            "counter": CopyAndReferenceCode.Counter(),
        ])
        let library = try await client.root(as: CopyAndReferenceCode.LibraryInterface.self)
        for used in [
            try await CopyAndReferenceCode.use(library), try await CopyAndReferenceCode.useDynamically(library),
        ] {
            #expect(used.title == "Atlas" && used.copy.title == "Atlas" && used.isOurs)
        }
        let counter = try await client.root(named: "counter", as: CopyAndReferenceCode.CounterInterface.self)
        let counted = try await CopyAndReferenceCode.count(counter, Bar(), Bar())
        #expect(counted == (10, 10))
        let account: DistantObject = try await client.root(named: "bank").account()
        let isCovered: Bool = try await account.isCovered(50)
        #expect(isCovered)
        let error = await #expect(throws: ConnectionError.self) { let _: Int = try await account.balance() }
        #expect(error?.code == .noSuchMessage)
        let shown = try await client.root(named: "screen", as: CopyAndReferenceCode.ScreenInterface.self)
        let brightness = try await CopyAndReferenceCode.show(640, 480, on: shown, over: client)
        #expect(brightness == 127)
        try await shown.object.keep(Data([1, 2, 3])) as Void
        #expect(screen.last.withLock { $0 } == Data([1, 2, 3]))
        await client.close()
    }

    @Test("Interfaces: a bank is called over a connection, in this process, and without an interface")
    func interfacesInGuide() async throws {
        let (client, server) = try await Connection.pair(first: .patient, second: .patient)
        try server.vend(CheckedCallsCode.Bank())
        do {
            let balances = try await CheckedCallsCode.call(client)
            #expect(balances == [5, 12])
        } catch let error as ConnectionError where error.isOfBusyMachine {
            // Ten seconds may pass on a busy machine.
        }
        #expect(try await CheckedCallsCode.promise(client) == 5)
        #expect(try await CheckedCallsCode.callLocal() == 1)
        #expect(try await CheckedCallsCode.callDynamically(client) == 5)
        try server.vend(CheckedCallsCode.AuditedBank(), as: "audited")
        let audited = try await client.root(named: "audited", as: CheckedCallsCode.AuditedBankInterface.self)
        #expect(try await audited.open("Ada").deposit(3) == 3)
        #expect(try await audited.find("Ada")?.balance() == 3)
        #expect(try await audited.find("Grace") == nil)
        #expect(try await audited.audit() == 1)
        server.vend(CheckedCallsCode.Bakery(), as: "bakery")
        let bakery = try await client.root(named: "bakery")
        try await bakery.bake(4)
        let numbers: [Int] = [try await bakery.price(), try await bakery.loaves()]
        #expect(numbers == [3, 4])
        let description = try #require(DistantObject.classDescription(of: await client.root))
        #expect(description.name == "Bank")
        #expect(
            description.messages.map(\.description) == [
                "find(String) -> Remote<AccountInterface>?", "open(String) -> Remote<AccountInterface>",
                "watch(Remote<ObserverInterface>) -> Void",
            ])
        await client.close()
    }

    @Test("Streams: a log is read and written over a connection")
    func streamsInGuide() async throws {
        let (client, server) = try await Connection.pair(first: .patient, second: .patient)
        try server.vend(StreamsCode.Log())
        let lines = Mutex<[String]>([])
        let counts = try await StreamsCode.use(client) { line in lines.withLock { $0.append(line) } }
        #expect(counts == [5, 5])
        #expect(lines.withLock { $0 } == ["one", "two", "three", "one", "two", "four"])
        await client.close()
    }

    @Test("Streams: a thread without a task reads a log and writes it")
    func blockingStreams() async throws {
        let (client, server) = try await Connection.pair(first: .patient, second: .patient)
        try server.vend(StreamsCode.Log())
        let log = try await client.root(as: StreamsCode.LogInterface.self)
        let more = Mutex(["five", "four"])
        let lines = Mutex<[String]>([])
        let counts: Result<[Int], any Error> = await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                continuation.resume(
                    returning: Result {
                        try StreamsCode.block(log, patience: TestTimeout.test, { more.withLock { $0.popLast() } }) {
                            line in
                            lines.withLock { $0.append(line) }
                        }
                    })
            }
        }
        #expect(try counts.get() == [3, 5])
        #expect(lines.withLock { $0 } == ["one", "two"])
        await client.close()
    }

    @Test("Helpers that come back: a killed worker is replaced, a pool counts all files, and events tell")
    func helpersGuide() async throws {
        let scratch = try TemporaryFolder()
        let files = (0..<20).map { scratch.path("\($0)") }
        for (number, file) in files.enumerated() {
            try Array(repeating: "word", count: number + 1).joined(separator: " ")
                .write(toFile: file, atomically: true, encoding: .utf8)
        }
        let program = try builtProgram("wordcount-worker")
        #expect(try await HelpersCode.first(program, files[2]) == 3)
        #expect(try await HelpersCode.pool(program, files) == 210)

        let pool = HelperPool(CounterInterface.self, program, count: 2)
        for helper in pool.helpers { _ = try await helper.running() }
        pool.helpers[0].connection?.child?.kill()
        #expect(try await HelpersCode.again(pool, files) == Array(1...20))
        for helper in pool.helpers { #expect(try await HelpersCode.restart(helper, files[2]) == 3) }
        await pool.stop()

        let counter = Helper(CounterInterface.self, program)
        let lines = Mutex<[String]>([])
        let watch = Task { await HelpersCode.watch(counter) { line in lines.withLock { $0.append(line) } } }
        let first = try await counter.running()
        let connection = try #require(counter.connection)
        connection.child?.kill()
        async let watched: Void = FailuresCode.watch(connection)
        // A call that meets the end may have run.
        _ = try? await counter.remote.count(files[0])
        #expect(try await counter.remote.count(files[4]).words == 5)
        #expect(try await counter.remote.count(files[5]).words == 6)
        await #expect(throws: ConnectionError.self) { _ = try await first.count(files[0]) }
        await watched
        await counter.stop()
        await watch.value
        // On a busy machine a start may take longer than the guide's code allows.
        let deaths = lines.withLock { $0.filter { !$0.contains("handshake") } }
        #expect(deaths == ["the counter has died: it was ended by signal 9 (SIGKILL)"])
        #expect(HelpersCode.options().standardError == .kept)
        #expect(FailuresCode.mayTryAgain(ConnectionError(.closed, "")))
    }

    @Test("Services by name: clients find one by its name, and a helper follows it")
    func servicesGuide() async {
        // The folder of services is the process's.
        await #expect(processExitsWith: .success) {
            do { try await Self.useServices() } catch { Issue.record("\(error)") }
        }
    }

    private static func useServices() async throws {
        let folder = try TemporaryFolder()
        setenv("XDG_RUNTIME_DIR", folder.path, 1)
        let serving = Task { try await ServicesCode.serve(.init()) }
        await ConnectionAddress.service("com.example.counter").isServed()
        // The guide's code has the time-outs of a user, and this process may get no time for so long.
        let connections = [
            try await Self.repeated(while: { $0.isOfBusyMachine }) { try await ServicesCode.open() },
            try await Self.repeated(while: { $0.isOfBusyMachine }) {
                try await ServicesCode.start("/none/such", folder.path("log"))
            },
        ]
        for connection in connections {
            #expect(try await connection.root(as: CounterInterface.self).count("a b c").words == 3)
            await connection.close()
        }
        let counter = ServicesCode.helper(.service("com.example.counter"))
        let words = try await Self.repeated(while: { $0.isOfBusyMachine || $0.code == .outcomeUnknown }) {
            try await counter.remote.count("a b").words
        }
        #expect(words == 2)
        await counter.stop()
        var lines: [String] = []
        try ServicesCode.list { name, state, pid, _ in lines.append("\(name) \(state) \(pid)") }
        #expect(lines == ["com.example.counter running \(getpid())"])
        serving.cancel()
        try await serving.value
        // A listener that nobody uses, and that ends before its time.
        let listener = try Listener(at: .service("com.example.counter"))
        let other = Task { try await ServicesCode.serve(.init(), by: listener) }
        listener.close()
        try await other.value
    }

    /// Repeats code of a guide while it fails with an error that `isExpected` accepts.
    private static func repeated<Value>(
        while isExpected: (ConnectionError) -> Bool, _ body: () async throws -> Value
    ) async throws -> Value {
        while true {
            do {
                return try await body()
            } catch let error as ConnectionError where isExpected(error) {
                try await Task.sleep(for: .milliseconds(10))
            }
        }
    }

    private final class Silent: Vendable, Implements {
        typealias I = WordCountValues.ObserverInterface

        static var messages: MessageTable<Silent> {
            Message(\I.counted) { (_: Silent) in { (_: String, _: WordCount) in } }
        }
    }

    @Test("Who may call what: other users are refused, get another root, or get an error from the method")
    func trust() async throws {
        let own = PeerCredentials.current.uid
        let scratch = try TemporaryFolder()
        let closed = try TrustCode.listen(at: scratch.path("closed"), for: [own + 1])
        let refused = await #expect(throws: ConnectionError.self) {
            try await Connection.open(closed.address, configuration: .patientExample)
        }
        #expect(refused?.code == .peerRefused)
        for owner in [own, own + 1] {
            let listener = try TrustCode.listen(at: scratch.path("\(owner)"), for: [own])
            let store = TrustCode.Store(owner: owner)
            let serving = Task { try await TrustCode.serve(store, at: listener, of: owner) }
            let connection = try await Connection.open(listener.address, configuration: .patientExample)
            let root = try await connection.root
            let names: [String] = try await root.names()
            #expect(names == ["lamp"])
            if owner == own {
                try await root.remove("lamp")
            } else {
                let error = await #expect(throws: ConnectionError.self) { try await root.remove("lamp") }
                #expect(error?.code == .noSuchMessage)
                #expect(throws: TrustCode.StoreError.self) { try store.remove("lamp") }
            }
            #expect(store.allNames() == (owner == own ? [] : ["lamp"]))
            await connection.close()
            listener.close()
            try await serving.value
        }
        closed.close()
    }

    @Test("Who may call what: a connection with small limits works")
    func limitsInGuide() async throws {
        let configuration = TrustCode.bounded().withLongTimeouts
        let (client, server) = try await Connection.pair(first: configuration, second: configuration)
        try server.vend(WhereCodeRunsCode.Account())
        let account = try await client.root
        let balance: Int = try await account.deposit(1)
        #expect(balance == 1)
        await client.close()
    }

    @Test("Coming from NSConnection and NSXPCConnection: a call, and a method in place of a reply block")
    func comingFromFoundation() async throws {
        let scratch = try TemporaryFolder()
        let path = scratch.path("s")
        let listener = try Listener(at: .path(path), configuration: .patientExample)
        let serving = Task {
            for await connection in listener {
                connection.vend(["": ComingFromFoundationCode.Directory(), "t": ComingFromFoundationCode.Thumbnailer()])
            }
        }
        let count = try await Self.repeated(while: { $0.isOfBusyMachine }) {
            try await ComingFromFoundationCode.add(at: path)
        }
        #expect(count == 7)
        try await withConnection(.open(.path(path), configuration: .patientExample)) { connection in
            let thumbnailer = try await connection.root(
                named: "t", as: ComingFromFoundationCode.ThumbnailerInterface.self)
            let image = try await thumbnailer.thumbnail(Data([1, 2]))
            #expect(image == Data([1]))
            await #expect(throws: RemoteError.self) { try await thumbnailer.thumbnail(Data()) }
        }
        listener.close()
        await serving.value
    }

    @Test("Testing your tool: an object, another version, time, bytes in pieces")
    func testing() async throws {
        // Five seconds may pass on a busy machine.
        do { #expect(try await TestingYourToolCode.local() == 4) } catch let error as ConnectionError
            where error.isOfBusyMachine
        {}
        try await TestingYourToolCode.versions()
        try TestingYourToolCode.timeOut()
        let count = try await Self.repeated(while: { $0.isOfBusyMachine }) {
            try await TestingYourToolCode.pair(TestSeed.next())
        }
        #expect(count == 6)
        let words = Remote(local: TestingYourToolCode.Words())
        #expect(try await words.longest("all of them") == "them")
    }

    @Test("Archives: a class and its archive")
    func archivesInGuide() throws {
        #expect(try KeyedArchiveCode.archive().map(\.name) == ["Juliana"])
        #if canImport(FoundationCoding)
            let data = try FoundationCodingCode.archive(.init(name: "Ada"), .init(name: "Grace"))
            #expect(try FoundationCodingCode.unarchive(data)?.name == "Ada")
        #endif
    }
}

extension ConnectionError {
    /// Whether a time has passed that the code of a guide has, or takes over from the library.
    ///
    /// All tests share the threads for tasks. On a busy machine the task that serves may get its turn later than that.
    fileprivate var isOfBusyMachine: Bool { code == .handshakeTimeout || code == .deadlineExceeded }
}
