// swift-format-ignore-file
// It is laid out as ComingFromFoundation.md shows it.

import DistantObjects
import Foundation

/// The code of ComingFromFoundation.md.
enum ComingFromFoundationCode {
    static func add(at path: String) async throws -> Int {
        // ComingFromFoundation.md: caller
        let connection = try await Connection.open(.path(path))
        let directory = try await connection.root
        let count: Int = try await directory.add("Juliana", 7)
        // end
        await connection.close()
        return count
    }

    final class Directory: Vendable {
        static var messages: MessageTable<Directory> {
            Message("add", Directory.add)
        }

        func add(_ name: String, age: Int) -> Int { age }
    }

    enum ThumbnailError: Error, Codable {
        case noImage
    }

    // ComingFromFoundation.md: method
    final class Thumbnailer: Vendable {
        static var messages: MessageTable<Thumbnailer> {
            Message("thumbnail", Thumbnailer.thumbnail)
        }

        func thumbnail(of file: Data) throws -> Data {
            guard let first = file.first else { throw ThumbnailError.noImage }
            return Data([first])
        }
    }
    // end
}
