import Foundation
import KeyedArchive

/// The items, in the archive `items.archive` of a folder, and their images in the same folder.
final class Store {
    let images: ImageStore
    private var items: [Item]
    private let archive: URL
    /// The lock, held while the items may be changed.
    private let lock: FolderLock?

    /// The folder for the items does not exist.
    struct NoFolder: Error, CustomStringConvertible {
        let description: String
    }

    /// Loads the items; none if there is no archive yet.
    ///
    /// - Parameters:
    ///   - folder: The folder with the items.
    ///   - isForChanging: Whether the items may be changed. No other process can change them while this object exists.
    ///   - log: Called with messages about images.
    /// - Throws: `NoFolder`, `FolderLock.Refused`, or the error of reading the archive.
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

    /// Appends a new item.
    func create(name: String, serialNumber: String, valueInDollars: Int) -> Item {
        let item = Item(itemName: name, serialNumber: serialNumber, valueInDollars: valueInDollars)
        items.append(item)
        return item
    }

    /// Removes an item from the list.
    func remove(_ item: Item) {
        items.removeAll { $0 === item }
    }

    /// Writes the list.
    ///
    /// Returns nil, or the reason why it failed.
    func saveChanges() -> String? {
        do {
            try KeyedArchiver.archive(items, to: archive, format: .binary)
            return nil
        } catch {
            return "\(error)"
        }
    }
}
