internal import CPortShims

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// The file that this process runs, as it was at the start.
///
/// Asked for later, the system would not tell the path of a file that was replaced meanwhile, for example by a new version.
enum OwnProgram {
    /// The path, as the system knows it; nil if it is not known.
    static let path: [UInt8]? = port_program().map { start in
        Array(UnsafeRawBufferPointer(start: start, count: strlen(start)))
    }

    /// The path of the folder, with a slash at its end.
    static let folder: [UInt8]? = path.flatMap { path in
        path.lastIndex(of: UInt8(ascii: "/")).map { Array(path[...$0]) }
    }

    /// The name of the file.
    static let name: [UInt8] = path.map { Array($0[(folder?.count ?? 0)...]) } ?? Array("unknown".utf8)
}
