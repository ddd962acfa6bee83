#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// A new folder of this user alone, for the socket that ssh listens at until this process has connected.
package struct TunnelFolder: Sendable {
    /// The longest path of a folder, so that ssh's socket in it has a path that the system allows.
    private static let longest = 90

    private let path: String
    /// The path of the socket.
    package var socket: String { "\(path)/s" }

    /// Makes the folder, in the folder for temporary files.
    ///
    /// - Throws: `system` if it cannot be made.
    package init() throws(TransportError) {
        let wanted = ProcessEnvironment.value(of: "TMPDIR") ?? "/tmp"
        let isUsable = wanted.hasPrefix("/") && wanted.utf8.count <= Self.longest && !wanted.contains("${")
        var name = Array("\(isUsable ? wanted : "/tmp")/distant-XXXXXX".utf8CString)
        let made = name.withUnsafeMutableBufferPointer { $0.baseAddress.flatMap { mkdtemp($0) } }
        guard made != nil else {
            throw .system("making a folder for the socket of ssh", errno, context: [wanted])
        }
        path = String(decoding: name.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    /// Removes the socket and the folder.
    package func remove() {
        unlink(socket)
        rmdir(path)
    }
}
