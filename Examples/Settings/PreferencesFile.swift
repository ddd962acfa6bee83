import Foundation
import KeyedArchive

/// The archive the settings lie in, under the key `settings`.
struct PreferencesFile {
    static let key = "settings"

    let url: URL

    /// The settings, or the defaults if there is no file.
    func load() throws -> Preferences {
        do {
            return try KeyedUnarchiver(contentsOf: url).decode(Preferences.self, forKey: Self.key)
        } catch let error as ArchiveError where error.code == .noSuchFile {
            return Preferences()
        }
    }

    func save(_ preferences: Preferences) throws {
        let archiver = KeyedArchiver(format: .binary)
        try archiver.encode(preferences, forKey: Self.key)
        try archiver.finish(to: url)
    }
}
