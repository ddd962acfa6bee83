import Foundation
import KeyedArchive

/// The items, kept in the archive `items.archive` of a folder, and their images beside it.
final class Store {
    let images: ImageStore
    private var items: [Item]
    private let archive: URL
    /// Held as long as the items are to be changed.
    private let lock: FolderLock?

    /// The folder for the items is not there.
    struct NoFolder: Error, CustomStringConvertible {
        let description: String
    }

    /// Loads the items; none if there is no archive yet.
    ///
    /// - Parameters:
    ///   - folder: Where they are.
    ///   - isForChanging: Whether they are to be changed: no other process does so as long as this object lives.
    ///   - log: Takes sentences about images.
    /// - Throws: `NoFolder`, `FolderLock.Refused`, or what makes the archive impossible to read.
    init(folder: URL, isForChanging: Bool = false, log: @escaping (String) -> Void) throws {
        var isFolder: ObjCBool = false
        let isThere = FileManager.default.fileExists(atPath: folder.path, isDirectory: &isFolder)
        guard isThere, isFolder.boolValue else {
            throw NoFolder(description: isThere ? "\(folder.path) is no folder" : "there is no folder \(folder.path)")
        }
        archive = folder.appendingPathComponent("items.archive")
        images = ImageStore(folder: folder, log: log)
        lock = isForChanging ? try FolderLock(folder) : nil
        do {
            items = try KeyedUnarchiver.unarchive([Item].self, from: archive)
        } catch let error as ArchiveError where error.code == .noSuchFile {
            items = []
        }
        if isForChanging {
            let keys = Set(items.map(\.itemKey))
            try images.settleAll { keys.contains($0) }
        }
    }

    var all: [Item] { items }

    func item(key: String) -> Item? { items.first { $0.itemKey == key } }

    /// Makes an item and adds it at the end.
    func create(name: String, serialNumber: String, valueInDollars: Int) -> Item {
        let item = Item(itemName: name, serialNumber: serialNumber, valueInDollars: valueInDollars)
        items.append(item)
        return item
    }

    /// Removes an item from the list.
    func remove(_ item: Item) {
        items.removeAll { $0 === item }
    }

    /// Writes the list; nil if that worked, or else the reason.
    func saveChanges() -> String? {
        do {
            try KeyedArchiver.archive(items, to: archive, format: .binary)
            return nil
        } catch {
            return "\(error)"
        }
    }
}
