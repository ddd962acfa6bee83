import DistantObjects
import Synchronization
import TestSupport
import Testing

/// What is called in the recording of interfaces, which an earlier version made that had neither promises nor streams.
///
/// The recording has the descriptions of these classes, so their messages stay as they are.
final class Catalog: Vendable, Implements {
    typealias I = CatalogInterface

    static var messages: MessageTable<Catalog> {
        Message(\I.add, Catalog.add)
        Message(\I.entry, Catalog.entry)
        Message(\I.known, Catalog.known)
        Message(\I.watch, Catalog.watch)
        Message(\I.watcher, Catalog.lastWatcher)
        Message(\I.forget, Catalog.forget)
    }

    private let entries = Mutex<[CatalogEntry]>([])
    private let watcher = Mutex<Remote<CatalogWatcherInterface>?>(nil)

    func add(_ title: String) -> Int {
        entries.withLock { entries in
            entries.append(CatalogEntry(title))
            return entries.count
        }
    }

    func entry(_ number: Int) -> CatalogEntry { entries.withLock { $0[number] } }

    func known(_ number: Int) -> CatalogEntry? {
        entries.withLock { $0.indices.contains(number) ? $0[number] : nil }
    }

    @concurrent
    func watch(_ watcher: Remote<CatalogWatcherInterface>) async throws -> Int {
        self.watcher.withLock { $0 = watcher }
        let titles = entries.withLock { $0.map { $0.title() } }
        for title in titles { try await watcher.changed(title) }
        return titles.count
    }

    func lastWatcher() -> Remote<CatalogWatcherInterface>? { watcher.withLock { $0 } }
    func forget() { watcher.withLock { $0 = nil } }
}

struct CatalogInterface: Interface {
    let add = Signature<Int, String>("add")
    let entry = Signature<Remote<CatalogEntryInterface>, Int>("entry")
    let known = Signature<Remote<CatalogEntryInterface>?, Int>("known")
    let watch = Signature<Int, Remote<CatalogWatcherInterface>>("watch")
    let watcher = Signature<Remote<CatalogWatcherInterface>?>("watcher")
    let forget = Signature<Void>("forget")
}

/// What a later client asks for: one message more.
struct SortedCatalogInterface: Extending {
    typealias Base = CatalogInterface
    let sort = Signature<Void>("sort", since: 2)
}

/// What the catalog does not answer.
struct OtherCatalogInterface: Interface {
    let add = Signature<String, String>("add")
    let remove = Signature<Void, Int>("remove")
}

struct CatalogEntryInterface: Interface {
    let title = Signature<String>("title")
    let rename = Signature<Void, String>("rename")
}

final class CatalogEntry: Vendable, Implements {
    typealias I = CatalogEntryInterface

    static var messages: MessageTable<CatalogEntry> {
        Message(\I.title, CatalogEntry.title)
        Message(\I.rename, CatalogEntry.rename)
    }

    private let name: Mutex<String>

    init(_ name: String) { self.name = Mutex(name) }

    func title() -> String { name.withLock { $0 } }
    func rename(_ name: String) { self.name.withLock { $0 = name } }
}

struct CatalogWatcherInterface: Interface {
    let changed = Signature<Void, String>("changed")
}

final class CatalogWatcher: Vendable, Implements {
    typealias I = CatalogWatcherInterface

    static var messages: MessageTable<CatalogWatcher> { Message(\I.changed, CatalogWatcher.changed) }

    let titles = Mutex<[String]>([])

    func changed(_ title: String) { titles.withLock { $0.append(title) } }
}

extension Catalog {
    /// What the client says in the recording.
    static func converse(_ client: Connection) async throws {
        let base = client.statistics.imports
        // Each step waits until nothing of it is left, so that its frames do not cross those of the next.
        func rest(imports: Int) async {
            await eventually("nothing is left but the root: \(client.statistics)") {
                let now = client.statistics
                return client.isEnded
                    || now.questions + now.answers + now.pending == 0 && now.exports == 0 && now.imports == imports
            }
        }
        var catalog: Remote<SortedCatalogInterface>? = try await client.root(
            named: "catalog", as: SortedCatalogInterface.self)
        #expect(try await catalog!.add("Atlas") == 1)
        #expect(try await catalog!.add("Almanac", timeout: nil) == 2)
        try await catalog!.add.oneWay("Annals")
        try await client.barrier()
        #expect(!catalog!.sort.isAvailable)
        await expectCode(.notAvailable) { try await catalog!.sort() }
        await expectCode(.interfaceMismatch) { _ = try Remote<OtherCatalogInterface>(catalog!.object) }
        do {
            let entry = try await catalog!.entry(0)
            #expect(try await entry.title() == "Atlas")
            try await entry.rename("Map")
            #expect(try await catalog!.known(0)?.title() == "Map")
        }
        await rest(imports: base + 1)
        #expect(try await catalog!.known(7) == nil)
        do {
            let own = CatalogWatcher()
            #expect(try await catalog!.watch(Remote(vending: own)) == 3)
            #expect(own.titles.withLock { $0 } == ["Map", "Almanac", "Annals"])
            let back = try await catalog!.watcher()
            #expect(back?.local(as: CatalogWatcher.self) === own)
            try await catalog!.forget()
        }
        await rest(imports: base + 1)
        catalog = nil
        await rest(imports: base)
        await client.close()
    }
}
