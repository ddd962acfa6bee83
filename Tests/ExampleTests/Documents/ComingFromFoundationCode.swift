// swift-format-ignore-file
// It is laid out as ComingFromFoundation.md shows it.

import DistantObjects
import Foundation

/// The code of ComingFromFoundation.md.
enum ComingFromFoundationCode {
    // ComingFromFoundation.md: interface
    struct DirectoryInterface: Interface {
        let add = Signature<Int, String, Int>("add")
    }
    // end

    static func add(at path: String) async throws -> Int {
        // ComingFromFoundation.md: caller
        let connection = try await Connection.open(.path(path))
        let directory = try await connection.root(as: DirectoryInterface.self)
        let count = try await directory.add("Juliana", 7)
        // end
        await connection.close()
        return count
    }

    final class Directory: Vendable, Implements {
        typealias I = DirectoryInterface

        static var messages: MessageTable<Directory> {
            Message(\I.add, Directory.add)
        }

        func add(_ name: String, age: Int) -> Int { age }
    }

    enum ThumbnailError: Error, Codable {
        case noImage
    }

    // ComingFromFoundation.md: method
    struct ThumbnailerInterface: Interface {
        let thumbnail = Signature<Data, Data>("thumbnail")
    }

    final class Thumbnailer: Vendable, Implements {
        typealias I = ThumbnailerInterface

        static var messages: MessageTable<Thumbnailer> {
            Message(\I.thumbnail, Thumbnailer.thumbnail)
        }

        func thumbnail(of file: Data) throws -> Data {
            guard let first = file.first else { throw ThumbnailError.noImage }
            return Data([first])
        }
    }
    // end
}
