import Foundation

/// Images, each in a file of its own named by its key, and in memory once it was asked for.
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

    /// Keeps an image; its file is replaced as a whole.
    func setImage(_ image: Data, forKey key: String) throws {
        try image.write(to: url(key), options: .atomic)
        cache[key] = image
    }

    /// Whether there is an image, without reading it.
    func hasImage(forKey key: String) -> Bool {
        cache[key] != nil || FileManager.default.fileExists(atPath: url(key).path)
    }

    /// An image, read from its file the first time; nil if there is none, which is logged.
    func image(forKey key: String) -> Data? {
        if let image = cache[key] { return image }
        guard let image = try? Data(contentsOf: url(key)) else {
            log("the image \(url(key).path) cannot be read")
            return nil
        }
        cache[key] = image
        return image
    }

    /// Forgets an image and removes its file, if it has one.
    func deleteImage(forKey key: String) throws {
        cache[key] = nil
        do {
            try FileManager.default.removeItem(at: url(key))
        } catch CocoaError.fileNoSuchFile {
            // Not every item has an image.
        }
    }

    /// Forgets what can be read again; to be called when memory is low.
    func emptyCache() { cache.removeAll() }

    private func url(_ key: String) -> URL { folder.appendingPathComponent(key) }
}
