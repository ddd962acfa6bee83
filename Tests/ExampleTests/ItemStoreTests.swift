import Foundation
import KeyedArchive
import TestSupport
import Testing

@testable import ItemStore

@Suite("ItemStore keeps items in an archive, and images in files")
struct ItemStoreTests {
    private let scratch: TemporaryFolder
    private let folder: String

    init() throws {
        scratch = try TemporaryFolder()
        folder = scratch.path("store")
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
    }

    private func run(_ arguments: String...) async throws -> Program.Outcome {
        try await Program.run("ItemStore", ["--in", folder] + arguments, in: scratch)
    }

    /// Adds an item with the program, and returns its key.
    private func add(_ words: [String]) async throws -> String {
        let outcome = try await Program.run("ItemStore", ["--in", folder, "add"] + words, in: scratch)
        #expect(outcome.status == 0, "\(outcome.errors)")
        let match = try #require(outcome.output.firstMatch(of: /added ([0-9A-F-]{36}):/))
        return String(match.1)
    }

    @Test("Items are added, listed, shown and removed, by one process after the other")
    func items() async throws {
        let none = try await run("list")
        #expect(none.status == 0 && none.output == "0 items, $0 in all\n", "\(none.errors)")
        let image = scratch.path("photo")
        try Data(repeating: 7, count: 1000).write(to: URL(fileURLWithPath: image))
        let lamp = try await add(["Lamp", "A 1", "30", image])
        let clock = try await add(["Clock", "B 2", "45"])
        #expect(FileManager.default.fileExists(atPath: "\(folder)/\(lamp)"))
        let list = try await run("list")
        let lines = list.output.split(separator: "\n")
        #expect(lines.count == 3)
        #expect(lines[0].hasPrefix("\(lamp): Lamp (A 1), $30, since 20") && lines[0].hasSuffix(", with an image"))
        #expect(lines[1].hasPrefix("\(clock): Clock (B 2), $45, since 20") && !lines[1].contains("image"))
        #expect(lines[2] == "2 items, $75 in all")
        let shown = try await run("show", lamp)
        #expect(shown.output.hasSuffix("image: 1000 bytes\n") && shown.errors.isEmpty)
        let removed = try await run("remove", lamp)
        #expect(removed.status == 0 && removed.output == "removed Lamp\n")
        #expect(!FileManager.default.fileExists(atPath: "\(folder)/\(lamp)"))
        let rest = try await run("list")
        #expect(rest.output.hasSuffix("\n1 item, $45 in all\n"))
    }

    @Test("A missing image is logged, and the item is shown")
    func missingImage() async throws {
        let key = try await add(["Clock", "B 2", "45"])
        let outcome = try await run("show", key)
        #expect(outcome.status == 0 && outcome.output.hasPrefix("Clock"))
        #expect(outcome.errors == "ItemStore: the image \(folder)/\(key) cannot be read\n")
    }

    @Test("Errors are reported with a message")
    func failuresInItemStore() async throws {
        let unknown = try await run("show", "X")
        #expect(unknown.status == 1 && unknown.errors == "ItemStore: there is no item X\n")
        let image = try await run("add", "Lamp", "A", "1", "/no/such/image")
        #expect(image.status == 1 && image.errors == "ItemStore: the image /no/such/image cannot be read\n")
        for words in [[], ["add", "Lamp"], ["add", "L", "A", "much"], ["what"]] {
            let usage = try await Program.run("ItemStore", words, in: scratch)
            #expect(usage.status == 2 && usage.errors.hasSuffix("; see ItemStore --help\n"))
        }
        try Data("broken".utf8).write(to: URL(fileURLWithPath: "\(folder)/items.archive"))
        let broken = try await run("add", "Lamp", "A", "1")
        #expect(broken.status == 1 && broken.errors.contains("items.archive"), "\(broken.errors)")
        #expect(try Data(contentsOf: URL(fileURLWithPath: "\(folder)/items.archive")) == Data("broken".utf8))
    }

    @Test(
        "A missing folder is reported, and is not treated as an empty store",
        arguments: [["list"], ["add", "L", "A", "1"]])
    func missingFolder(words: [String]) async throws {
        let path = scratch.path("none")
        let missing = try await Program.run("ItemStore", ["--in", path] + words, in: scratch)
        #expect(missing.status == 1 && missing.output.isEmpty)
        #expect(missing.errors == "ItemStore: there is no folder \(path)\n")
        try Data([1]).write(to: URL(fileURLWithPath: path))
        let file = try await Program.run("ItemStore", ["--in", path] + words, in: scratch)
        #expect(file.status == 1 && file.output.isEmpty)
        #expect(file.errors == "ItemStore: \(path) is no folder\n")
    }

    /// Runs the program with a file size limit of half a kilobyte, as on a full disk.
    private func runWithoutRoom(_ words: [String]) async throws -> Program.Outcome {
        // The signal of the limit is ignored. Output goes through pipes, which have no size.
        let limited = #"(trap "" XFSZ; ulimit -f 1; exec "$0" "$@") 2>&1 | cat; exit 0"#
        let program = try builtProgram("ItemStore")
        return try await Program.run("/bin/sh", ["-c", limited, program, "--in", folder] + words, in: scratch)
    }

    private func files() throws -> [String: Data] {
        let names = try FileManager.default.contentsOfDirectory(atPath: folder)
        return try Dictionary(
            uniqueKeysWithValues: names.map { ($0, try Data(contentsOf: URL(fileURLWithPath: "\(folder)/\($0)"))) })
    }

    @Test("On a full disk neither an item nor its image is added or removed")
    func fullDisk() async throws {
        let photo = scratch.path("photo")
        try Data(repeating: 7, count: 100).write(to: URL(fileURLWithPath: photo))
        let key = try await add(["Lamp", "A 1", "30", photo])
        for number in 0..<8 { _ = try await add(["Clock of the long now \(number)", "B \(number)", "45"]) }
        let before = try files()
        #expect(before.count == 2)
        let added = try await runWithoutRoom(["add", "Chair", "C", "1", photo])
        #expect(added.output.hasPrefix("ItemStore: the items are not saved: "), "\(added.output)")
        #expect(try files() == before)
        let removed = try await runWithoutRoom(["remove", key])
        #expect(removed.output.hasPrefix("ItemStore: the items are not saved: "), "\(removed.output)")
        #expect(try files() == before)
        // There is no room for the image itself.
        try Data(repeating: 7, count: 10_000).write(to: URL(fileURLWithPath: photo))
        let large = try await runWithoutRoom(["add", "Chair", "C", "1", photo])
        #expect(large.output.hasPrefix("ItemStore: the image is not saved: "), "\(large.output)")
        #expect(large.output.split(separator: "\n").count == 1 && !large.output.contains("NSError"))
        #expect(try files() == before)
    }

    @Test("The sum of large values does not overflow")
    func largeValues() async throws {
        for _ in 0..<2 { _ = try await add(["Palace", "P", "\(Int.max)"]) }
        let list = try await run("list")
        #expect(
            list.status == 0 && list.output.hasSuffix("2 items, $\(2 * Int128(Int.max)) in all\n"), "\(list.errors)")
    }

    @Test("Images are cached, and read again after the cache was emptied")
    func images() throws {
        var logged: [String] = []
        let url = URL(fileURLWithPath: folder)
        let key = UUID().uuidString
        let writer = ImageStore(folder: url) { _ in }
        try writer.addPendingImage(Data([1, 2]), forKey: key)
        try writer.settle(key, isListed: true)
        let store = ImageStore(folder: url) { logged.append($0) }
        #expect(store.cachedCount == 0 && store.hasImage(forKey: key))
        #expect(store.image(forKey: key) == Data([1, 2]))
        #expect(store.cachedCount == 1)
        try Data([3]).write(to: url.appendingPathComponent(key))
        #expect(store.image(forKey: key) == Data([1, 2]))
        store.emptyCache()
        #expect(store.cachedCount == 0)
        #expect(store.image(forKey: key) == Data([3]))
        // It is logged only once.
        for _ in 0..<2 {
            try store.makePending(key)
            try store.settle(key, isListed: false)
        }
        #expect(store.image(forKey: key) == nil && logged.count == 1 && logged[0].contains(key))
    }

    @Test("An item's key from an archive cannot name another file")
    func foreignKey() throws {
        let url = URL(fileURLWithPath: folder)
        let store = try Store(folder: url) { _ in }
        _ = store.create(name: "Lamp", serialNumber: "A", valueInDollars: 1)
        #expect(store.saveChanges() == nil)
        var graph = try ArchivedGraph(Data(contentsOf: url.appendingPathComponent("items.archive")))
        let item = try #require(graph.objects.firstIndex { $0.className == "Item" })
        let path = try graph.add(.value(.string("../photo")))
        try graph.setValue(.reference(path), forKey: "itemKey", of: item)
        try Data(graph.bytes(format: .binary)).write(to: url.appendingPathComponent("items.archive"))
        #expect(throws: ArchiveError.self) { try Store(folder: url) { _ in } }
    }
}
