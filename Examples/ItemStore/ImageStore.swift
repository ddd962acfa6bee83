import Foundation

/// Images, each in a file of its own named by its key, and in memory once it was asked for.
///
/// While its item is added or removed, an image's file is marked as pending:
///
///     add       write KEY.pending       save the list     rename it to KEY
///     remove    rename KEY to it        save the list     remove it
///
/// A crash at any moment leaves a pending file, and the list says what is to become of it; no other file is ever looked at.
final class ImageStore {
    private let folder: URL
    private let log: (String) -> Void
    private var cache: [String: Data] = [:]

    init(folder: URL, log: @escaping (String) -> Void) {
        self.folder = folder
        self.log = log
    }

    /// How many images are in memory.
    var cachedCount: Int { cache.count }

    /// Whether there is an image, without reading it.
    func hasImage(forKey key: String) -> Bool {
        cache[key] != nil || [file(key), pending(key)].contains { FileManager.default.fileExists(atPath: $0.path) }
    }

    /// An image, read from its file the first time; nil if there is none, which is logged.
    func image(forKey key: String) -> Data? {
        if let image = cache[key] { return image }
        guard let image = (try? Data(contentsOf: file(key))) ?? (try? Data(contentsOf: pending(key))) else {
            log("the image \(file(key).path) cannot be read")
            return nil
        }
        cache[key] = image
        return image
    }

    /// Forgets what can be read again; to be called when memory is low.
    func emptyCache() { cache.removeAll() }

    // MARK: Changes

    /// Keeps the image of an item that is not in the list yet.
    func addPendingImage(_ image: Data, forKey key: String) throws {
        do { try image.write(to: pending(key)) } catch {
            // A part of it may be there.
            try? remove(pending(key))
            throw error
        }
        cache[key] = image
    }

    /// Marks the image of an item that is to leave the list, if it has one.
    func makePending(_ key: String) throws {
        do { try FileManager.default.moveItem(at: file(key), to: pending(key)) } catch CocoaError.fileNoSuchFile {
            // Not every item has an image.
        }
    }

    /// Gives a pending image its name if its item is in the list, and removes it if not.
    func settle(_ key: String, isListed: Bool) throws {
        guard isListed else {
            cache[key] = nil
            return try remove(pending(key))
        }
        do { try FileManager.default.moveItem(at: pending(key), to: file(key)) } catch CocoaError.fileNoSuchFile {
            // Not every item has an image.
        }
    }

    /// Settles what processes left that came to no end.
    func settleAll(isListed: (String) -> Bool) throws {
        for name in try FileManager.default.contentsOfDirectory(atPath: folder.path) where name.hasSuffix(Self.mark) {
            let key = String(name.dropLast(Self.mark.count))
            // Whoever else has files here does not name them like this.
            if UUID(uuidString: key)?.uuidString == key { try settle(key, isListed: isListed(key)) }
        }
    }

    private func remove(_ file: URL) throws {
        do { try FileManager.default.removeItem(at: file) } catch CocoaError.fileNoSuchFile {
            // There is nothing to remove.
        }
    }

    private static let mark = ".pending"

    private func file(_ key: String) -> URL { folder.appendingPathComponent(key) }

    private func pending(_ key: String) -> URL { folder.appendingPathComponent(key + Self.mark) }
}
