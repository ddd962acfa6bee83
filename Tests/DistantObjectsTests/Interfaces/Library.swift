import DistantObjects
import Synchronization

// A service that both sides of a test know by its interfaces.

struct Book: Codable, Equatable, Sendable {
    var title: String
}

struct ReaderInterface: Interface {
    let tell = Signature<Void, String>("tell")
    let told = Signature<Int>("told")
}

struct ShelfInterface: Interface {
    let rename = Signature<Void, String>("rename")
    let title = Signature<String>("title")
}

struct LibraryInterface: Interface {
    let add = Signature<Int, Book>("add")
    let find = Signature<Book?, String>("find")
    let shelf = Signature<Remote<ShelfInterface>, String>("shelf")
    let known = Signature<Remote<ShelfInterface>?, String>("known")
    let later = Signature<Remote<ShelfInterface>?, String>("later")
    let watch = Signature<Int, Remote<ReaderInterface>>("watch")
    let back = Signature<Remote<ReaderInterface>?>("back")
    let slow = Signature<Void, Int>("slow")
    let wait = Signature<Int>("wait")
    let clear = Signature<Void>("clear", since: 2)
    /// A message that has the name of a member of `Remote`.
    let object = Signature<String>("object")
}

struct StaffInterface: Extending {
    typealias Base = LibraryInterface
    let fire = Signature<Int, String>("fire")
}

struct OwnerInterface: Extending {
    typealias Base = StaffInterface
    let sell = Signature<Bool>("sell")
}

struct CityInterface: Extending {
    typealias Base = OwnerInterface
    let tax = Signature<Double, Double>("tax")
}

final class Reader: Vendable, Implements {
    typealias I = ReaderInterface
    let heard = Mutex<[String]>([])

    static var messages: MessageTable<Reader> {
        Message(\I.tell, Reader.tell)
        Message(\I.told, Reader.told)
    }

    func tell(_ text: String) { heard.withLock { $0.append(text) } }
    func told() -> Int { heard.withLock { $0.count } }
}

final class Shelf: Vendable, Implements {
    typealias I = ShelfInterface
    private let name: Mutex<String>

    static var messages: MessageTable<Shelf> {
        Message(\I.rename, Shelf.rename)
        Message(\I.title, Shelf.title)
    }

    init(_ name: String) { self.name = Mutex(name) }
    func rename(_ name: String) { self.name.withLock { $0 = name } }
    func title() -> String { name.withLock { $0 } }
}

/// Answers all that a city asks of its library, which is more than a library has to.
final class Library: Vendable, Implements {
    typealias I = CityInterface
    typealias L = LibraryInterface

    let books = Mutex<[Book]>([])
    let started = Signal()
    let slept = Signal()
    private let shelves = Mutex<[String: Shelf]>([:])
    private let reader = Mutex<Remote<ReaderInterface>?>(nil)

    static var messages: MessageTable<Library> {
        Message(\L.add, Library.add)
        Message(\L.find, Library.find)
        Message(\L.shelf, Library.shelf)
        Message(\L.known, Library.known)
        Message(\L.later, Library.later)
        Message(\L.watch, Library.watch)
        Message(\L.back, Library.back)
        Message(\L.slow, Library.slow)
        Message(\L.wait, Library.wait)
        Message(\L.clear, Library.clear)
        Message(\L.object, Library.object)
        Message(\StaffInterface.fire) { (_: Library) in { (name: String) in name.count } }
        Message(\OwnerInterface.sell, Library.sell)
        Message(\I.tax, Library.tax)
    }

    func add(_ book: Book) -> Int {
        books.withLock { books in
            books.append(book)
            return books.count
        }
    }

    func find(_ title: String) -> Book? { books.withLock { books in books.first { $0.title == title } } }

    func shelf(_ name: String) -> Shelf {
        shelves.withLock { shelves in
            let shelf = shelves[name] ?? Shelf(name)
            shelves[name] = shelf
            return shelf
        }
    }

    func known(_ name: String) -> Shelf? { shelves.withLock { $0[name] } }
    func later(_ name: String) async -> Shelf? { known(name) }

    func watch(_ reader: Remote<ReaderInterface>) async throws -> Int {
        self.reader.withLock { $0 = reader }
        try await reader.tell("welcome")
        return try await reader.told()
    }

    func back() -> Remote<ReaderInterface>? {
        reader.withLock { reader in
            defer { reader = nil }
            return reader
        }
    }

    func slow(_ count: Int) async throws {
        for _ in 0..<count { await Task.yield() }
        slept.send()
    }

    func wait() async throws -> Int {
        started.send()
        try await Task.sleep(for: .seconds(3_600))
        return 1
    }

    func clear() { books.withLock { $0 = [] } }
    func object() -> String { "a message" }
    func sell() -> Bool { false }
    func tax(_ rate: Double) -> Double { rate / 2 }
}

// Other versions of the same service, in which names and types differ.

struct OldLibraryInterface: Interface {
    let add = Signature<Int, Book>("add")
    let find = Signature<Book?, String>("find")
}

/// Before there was `clear`.
final class OldLibrary: Vendable, Implements {
    typealias I = OldLibraryInterface

    static var messages: MessageTable<OldLibrary> {
        Message(\I.add) { (_: OldLibrary) in { (_: Book) in 1 } }
        Message(\I.find) { (_: OldLibrary) in { (_: String) -> Book? in nil } }
    }
}

struct NewLibraryInterface: Interface {
    let add = Signature<Int, Book>("add")
    let find = Signature<Book?, String>("find")
    let clear = Signature<Void>("clear", since: 2)
    let lend = Signature<Bool, Book, String>("lend", since: 3)
}

/// Of everything something else.
struct OtherLibraryInterface: Interface {
    let add = Signature<Int, Book, Int>("add")
    let find = Signature<Void, String>("find")
    let clear = Signature<Void, String>("clear", since: 2)
    let shelf = Signature<Remote<ReaderInterface>, String>("shelf")
    let title = Signature<String>("title")
}

/// Whose class of books had another name.
struct RenamedLibraryInterface: Interface {
    struct Volume: Codable {
        var title: String
    }

    let add = Signature<Int, Volume>("add", olderTypeNames: ["Volume": "Book"])
    let find = Signature<Volume?, String>("find", olderTypeNames: ["Volume": "Book"])
}

/// Says that it implements what it does not list.
final class HalfLibrary: Vendable, Implements {
    typealias I = OldLibraryInterface

    static var messages: MessageTable<HalfLibrary> {
        Message("find") { (_: HalfLibrary) in { (_: Int) in 1 } }
    }
}

actor CountingShelf: Vendable, Implements {
    typealias I = ShelfInterface
    private var name = "an actor"

    static var messages: MessageTable<CountingShelf> {
        Message(\I.rename) { (shelf: CountingShelf) in { (name: String) in await shelf.rename(name) } }
        Message(\I.title) { (shelf: CountingShelf) in { () async in await shelf.title() } }
    }

    func rename(_ name: String) { self.name = name }
    func title() -> String { name }
}

@MainActor
final class WindowShelf: Vendable, Implements {
    typealias I = ShelfInterface
    private var name = "a window"

    nonisolated static var messages: MessageTable<WindowShelf> {
        Message(\I.rename, WindowShelf.rename)
        Message(\I.title, WindowShelf.title)
    }

    nonisolated init() {}
    func rename(_ name: String) { self.name = name }
    func title() -> String {
        MainActor.assertIsolated()
        return name
    }
}
