internal import CPortShims

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// An open folder, in which files are made, compared and removed by name.
///
/// It stays the same folder when the current directory changes, or when the folder's path leads to another one.
final class SocketFolder: Sendable {
    /// What distinguishes a file from all others that exist.
    struct Identity: Equatable {
        let device: UInt64
        let number: UInt64
    }

    /// A file of the folder.
    struct File {
        let identity: Identity
        let owner: UInt32
        /// Its permissions, as those of `chmod`.
        let mode: UInt32
        let isSocket: Bool
        let isRegular: Bool
        let isFolder: Bool

        init(_ file: port_file) {
            identity = Identity(device: file.device, number: file.number)
            owner = file.owner
            mode = file.mode
            isSocket = file.is_socket
            isRegular = file.is_regular
            isFolder = file.is_folder
        }
    }

    let descriptor: CInt
    /// The absolute path as the system knows it, with a zero at the end; it need not be UTF-8.
    let path: [CChar]

    /// - Parameter path: Relative paths count from the current directory.
    /// - Throws: `system`, with the system's number of the error.
    init(_ path: String) throws(TransportError) {
        self.path = try Self.absolute(path)
        descriptor = port_folder_open(self.path)
        guard descriptor >= 0 else { throw .system("opening the folder", errno, context: [path]) }
    }

    deinit { port_close(descriptor) }

    private static func absolute(_ path: String) throws(TransportError) -> [CChar] {
        guard !path.hasPrefix("/") else { return Array(path.utf8CString) }
        guard let current = getcwd(nil, 0) else {
            throw .system("looking up the current directory", errno, context: [path])
        }
        defer { free(current) }
        var rest = path[...]
        while rest.hasPrefix("./") { rest = rest.dropFirst(2).drop { $0 == "/" } }
        let start = Array(UnsafeBufferPointer(start: current, count: strlen(current)))
        if rest.isEmpty || rest == "." { return start + [0] }
        return start + [CChar(bitPattern: UInt8(ascii: "/"))] + Array(String(rest).utf8CString)
    }

    /// The file of that name; nil if there is none, or it cannot be examined.
    func file(named name: String) -> File? {
        var file = port_file()
        return port_file_at(descriptor, name, &file) < 0 ? nil : File(file)
    }

    /// The file behind a descriptor.
    static func file(behind descriptor: CInt) -> File? {
        var file = port_file()
        return port_file_of(descriptor, &file) < 0 ? nil : File(file)
    }

    /// Removes a file if it is still the same.
    func remove(_ name: String, _ identity: Identity) {
        if file(named: name)?.identity == identity { _ = port_remove_at(descriptor, name) }
    }

    /// Makes something under a name that nobody uses yet, to be renamed when it is complete.
    ///
    /// - Parameter make: Makes it, and returns a descriptor, or -1 with `errno`.
    /// - Returns: The descriptor and the name; a descriptor below 0 if `make` has failed, with `errno`.
    func makeUnnamed(_ make: (_ name: String) -> CInt) -> (descriptor: CInt, name: String) {
        while true {
            let name = ".distant-\(String(UInt32.random(in: 0 ... .max), radix: 36))"
            let made = make(name)
            // A socket is not bound to a name that is in use, and a file not made.
            if made < 0, errno == EEXIST || errno == EADDRINUSE { continue }
            return (made, name)
        }
    }
}
