import Foundation

/// Images in separate files, which are named by their keys and cached in memory.
///
/// While its item is added or removed, an image's file is marked as pending:
///
///     add       write KEY.pending       save the list     rename it to KEY
///     remove    rename KEY to it        save the list     remove it
///
/// After a crash there may be a pending file. The list decides whether it is kept. Other files are ignored.
final class ImageStore {
    private let folder: URL
    private let log: (String) -> Void
    private var cache: [String: Data] = [:]

    init(folder: URL, log: @escaping (String) -> Void) {
        self.folder = folder
        self.log = log
    }

    /// The number of images in memory.
    var cachedCount: Int { cache.count }

    /// Whether there is an image.
    ///
    /// Does not read it.
    func hasImage(forKey key: String) -> Bool {
        cache[key] != nil || [file(key), pending(key)].contains { FileManager.default.fileExists(atPath: $0.path) }
    }

    /// An image, which is read from its file the first time; nil if there is none, which is logged.
    func image(forKey key: String) -> Data? {
        if let image = cache[key] { return image }
        guard let image = (try? Data(contentsOf: file(key))) ?? (try? Data(contentsOf: pending(key))) else {
            log("the image \(file(key).path) cannot be read")
            return nil
        }
        cache[key] = image
        return image
    }

    /// Removes cached images.
    ///
    /// Call it when memory is low.
    func emptyCache() { cache.removeAll() }

    // MARK: Changes

    /// Writes the image of an item that is not in the list yet.
    func addPendingImage(_ image: Data, forKey key: String) throws {
        do { try image.write(to: pending(key)) } catch {
            // A part of it may exist.
            try? remove(pending(key))
            throw error
        }
        cache[key] = image
    }

    /// Marks the image of an item that will be removed from the list, if it has one.
    func makePending(_ key: String) throws {
        do { try FileManager.default.moveItem(at: file(key), to: pending(key)) } catch CocoaError.fileNoSuchFile {
            // Not every item has an image.
        }
    }

    /// Renames a pending image to its key if its item is in the list, and removes it if not.
    func settle(_ key: String, isListed: Bool) throws {
        guard isListed else {
            cache[key] = nil
            return try remove(pending(key))
        }
        do { try FileManager.default.moveItem(at: pending(key), to: file(key)) } catch CocoaError.fileNoSuchFile {
            // Not every item has an image.
        }
    }

    /// Handles the pending images of processes that crashed.
    func settleAll(isListed: (String) -> Bool) throws {
        for name in try FileManager.default.contentsOfDirectory(atPath: folder.path) where name.hasSuffix(Self.mark) {
            let key = String(name.dropLast(Self.mark.count))
            // Other programs do not use names of this form.
            if UUID(uuidString: key)?.uuidString == key { try settle(key, isListed: isListed(key)) }
        }
    }

    private func remove(_ file: URL) throws {
        do { try FileManager.default.removeItem(at: file) } catch CocoaError.fileNoSuchFile {
            // The file does not exist.
        }
    }

    private static let mark = ".pending"

    private func file(_ key: String) -> URL { folder.appendingPathComponent(key) }

    private func pending(_ key: String) -> URL { folder.appendingPathComponent(key + Self.mark) }
}
