import Foundation

/// A new folder for a test, which is removed when this object is freed.
package final class TemporaryFolder: Sendable {
    package let path: String

    /// - Parameter parent: The folder to make it in.
    package init(in parent: String = "/tmp") throws {
        // The path is short because a socket's path has at most about a hundred bytes.
        path = "\(parent)/do-\(UUID().uuidString.prefix(8))"
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
    }

    deinit { remove() }

    package func remove() { try? FileManager.default.removeItem(atPath: path) }

    /// The path of a socket in the folder.
    package var socket: String { path("s") }

    /// The path of a file in the folder.
    package func path(_ name: String) -> String { "\(path)/\(name)" }
}
