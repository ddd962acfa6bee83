import Foundation
import KeyedArchive

/// The archive with the settings under the key `settings`.
struct PreferencesFile {
    static let key = "settings"

    let url: URL

    /// The file is an archive, but not one of settings.
    struct Foreign: Error, CustomStringConvertible {
        let description: String
    }

    /// The settings, or the defaults if there is no file.
    func load() throws -> Preferences {
        let unarchiver: KeyedUnarchiver
        do {
            unarchiver = try KeyedUnarchiver(contentsOf: url)
        } catch let error as ArchiveError where error.code == .noSuchFile {
            return Preferences()
        }
        do {
            return try unarchiver.decode(Preferences.self, forKey: Self.key)
        } catch {
            throw Foreign(description: "the file \(url.path) holds no settings that can be read (\(error))")
        }
    }

    func save(_ preferences: Preferences) throws {
        let archiver = KeyedArchiver(format: .binary)
        try archiver.encode(preferences, forKey: Self.key)
        try archiver.finish(to: url)
    }
}
