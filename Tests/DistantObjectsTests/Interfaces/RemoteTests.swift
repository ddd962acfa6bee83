import DistantObjects
import Synchronization
import TestSupport
import Testing

@Suite("Remotes: proxies that the compiler checks", .bounded())
struct RemoteTests {
    /// A client and its library, which the server vends.
    private struct Visit {
        let pair: Pair
        let served = Library()
        let library: Remote<LibraryInterface>

        init() async throws {
            pair = try await Pair()
            try pair.server.vend(served, as: "library")
            library = try await pair.client.root(named: "library", as: LibraryInterface.self)
        }
    }

    @Test("A call has the signature's result without an annotation, and each way to send works")
    func callsInRemote() async throws {
        let visit = try await Visit()
        let library = visit.library
        #expect(try await library.add(Book(title: "Atlas")) + 1 == 2)
        let book = try await library.find("Atlas")
        #expect(book?.title == "Atlas")
        #expect(try await library.find("nothing") == nil)
        #expect(try await library.add(Book(title: "Bible"), timeout: TestTimeout.wait) == 2)
        try await library.slow.oneWay(1)
        #expect(try library.slow.offer(1))
        await visit.served.slept.wait(for: 2)
        try await library.clear()
        try await library.clear(timeout: nil)
        #expect(visit.served.books.withLock { $0.isEmpty })
        let counts = try await onThread {
            try library.slow.blockingOneWay(1)
            try library.clear.blocking()
            return try library.add.blocking(Book(title: "Codex"))
        }
        #expect(counts == 1)
        await visit.pair.close()
    }

    @Test("A deadline ends a call, and so does cancelling its task")
    func endings() async throws {
        let visit = try await Visit()
        await expectCode(.deadlineExceeded) { _ = try await visit.library.wait(timeout: .milliseconds(20)) }
        let call = Task { try await visit.library.wait() }
        await visit.served.started.wait()
        call.cancel()
        await #expect(throws: CancellationError.self) { try await call.value }
        await visit.pair.close()
    }

    @Test("A method returns its own object where the signature says Remote, or none")
    func objectsInRemote() async throws {
        let visit = try await Visit()
        let shelf = try await visit.library.shelf("poems")
        #expect(try await shelf.title() == "poems")
        try await shelf.rename("verses")
        #expect(try await visit.library.known("poems")?.title() == "verses")
        #expect(try await visit.library.later("poems") == shelf)
        #expect(try await visit.library.later("prose") == nil)
        #expect(visit.served.known("poems")?.title() == "verses")
        await visit.pair.client.close()
    }

    @Test("A remote of one's own is called back, and comes home as the original object")
    func callbacksInRemote() async throws {
        let visit = try await Visit()
        let reader = Reader()
        #expect(try await visit.library.watch(Remote(vending: reader)) == 1)
        #expect(reader.heard.withLock { $0 } == ["welcome"])
        let back = try await visit.library.back()
        #expect(back?.local(as: Reader.self) === reader)
        try await back?.tell("to myself")
        #expect(reader.told() == 2)
        await visit.pair.client.close()
    }

    @Test("An interface has the messages of those it extends, and becomes each of them")
    func extending() async throws {
        let visit = try await Visit()
        let city = try await visit.pair.client.root(named: "library", as: CityInterface.self)
        #expect(try await city.tax(5) == 2.5)
        #expect(try await city.sell() == false)
        #expect(try await city.fire("Tom") == 3)
        #expect(try await city.add(Book(title: "Atlas")) == 1)
        let owner = Remote<OwnerInterface>(city)
        let staff = Remote<StaffInterface>(city)
        let library = Remote<LibraryInterface>(city)
        #expect(try await owner.sell() == false)
        #expect(try await owner.fire("Tim") == 3)
        #expect(try await staff.add(Book(title: "Bible")) == 2)
        #expect(try await Remote<LibraryInterface>(staff).find("Bible") != nil)
        #expect(try await library.find("Atlas") != nil)
        #expect(library == visit.library)
        await visit.pair.client.close()
    }

    @Test("A message with the name of a member of Remote is reached by its key path")
    func members() async throws {
        let visit = try await Visit()
        #expect(try await visit.library[\.object]() == "a message")
        await visit.pair.client.close()
    }

    @Test("An object of this process takes a remote one's place, and gets copies")
    func localInRemote() async throws {
        let own = Library()
        let library = Remote<CityInterface>(local: own)
        #expect(try await library.add(Book(title: "Atlas")) == 1)
        try await library.clear()
        #expect(own.books.withLock { $0.isEmpty })
        #expect(try await library.shelf("poems").title() == "poems")
        // It stands for an object of another process, where the object itself is not.
        #expect(library.local(as: Library.self) == nil)
        #expect(library.clear.isAvailable)
    }

    @Test("A remote becomes a DistantObject, and that a remote again")
    func dynamic() async throws {
        let visit = try await Visit()
        let object = visit.library.object
        let count: Int = try await object.add(Book(title: "Atlas"))
        #expect(count == 1)
        let again = try Remote<LibraryInterface>(object)
        #expect(again == visit.library && again.hashValue == visit.library.hashValue)
        #expect(try await again.find("Atlas") != nil)
        let error = #expect(throws: ConnectionError.self) { try Remote<ReaderInterface>(object) }
        #expect(error?.code == .interfaceMismatch)
        await visit.pair.client.close()
    }

    @Test("An actor and a class of the main actor implement an interface")
    func isolatedInRemote() async throws {
        let pair = try await Pair()
        try pair.server.vend(CountingShelf(), as: "actor")
        try pair.server.vend(WindowShelf(), as: "window")
        for name in ["actor", "window"] {
            let shelf = try await pair.client.root(named: name, as: ShelfInterface.self)
            #expect(try await shelf.title() == "a\(name == "actor" ? "n" : "") \(name)")
            try await shelf.rename("x")
            #expect(try await shelf.title() == "x")
        }
        await pair.client.close()
    }

    @Test("A plain thread looks a root up by its interface")
    func blockingRoot() async throws {
        let visit = try await Visit()
        let client = visit.pair.client
        let count = try await onThread {
            try client.blockingRoot(named: "library", as: LibraryInterface.self).add.blocking(Book(title: "Atlas"))
        }
        #expect(count == 1)
        await client.close()
    }

    @Test("A class that lacks messages of its interface is refused when it is vended and when it is sent")
    func incomplete() async throws {
        let pair = try await Pair()
        let error = #expect(throws: ConnectionError.self) { try pair.server.vend(HalfLibrary()) }
        #expect(error?.code == .interfaceMismatch)
        let text = error?.message ?? ""
        #expect(text.contains("add(Book) -> Int is missing"), "\(text)")
        #expect(text.contains("find: argument 1 String is Int there, result Optional<Book> is Int there"), "\(text)")
        await expectCode(.interfaceMismatch) { try await pair.client.root.watch(HalfLibrary()) }
        await expectCode(.interfaceMismatch) {
            try await pair.client.root.watch(Remote<OldLibraryInterface>(vending: HalfLibrary()))
        }
        try await pair.rest()
        await pair.close()
    }
}
