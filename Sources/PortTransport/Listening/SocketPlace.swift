internal import CPortShims

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// The place of a listening socket in the file system: its folder, its file and the lock of its path.
///
/// Each file is removed or replaced only while it is the one that was found or made here: see `SocketFolder.remove`.
struct SocketPlace {
    private let folder: SocketFolder
    private let name: String
    private let lock: ListenerLock
    private let identity: SocketFolder.Identity
    /// The absolute path; as it was given if the folder's is not UTF-8.
    let path: String

    /// Takes the place and listens there.
    ///
    /// A socket that a dead process has left is replaced. The new one listens before it has the name, so no client finds one
    /// that refuses it.
    ///
    /// - Parameters:
    ///   - path: A relative path counts from the current directory of now.
    ///   - version: The version of this side, for other processes.
    /// - Returns: The place and the listening socket, which the caller owns.
    /// - Throws: As `SocketListener.init`; nothing is left or changed then.
    static func take(
        _ path: String, backlog: Int, version: UInt64
    ) throws(TransportError) -> (place: SocketPlace, socket: CInt) {
        try ChannelEndpoint.checkPath(path)
        let (folder, name) = try parts(path)
        try checkKind(of: folder.file(named: name), path)
        let lock = try ListenerLock(of: name, in: folder, path: path, version: version)
        do throws(TransportError) {
            let (socket, temporary, identity) = try listen(in: folder, path, backlog)
            do throws(TransportError) {
                try publish(temporary, as: name, in: folder, path)
            } catch {
                folder.remove(temporary, identity)
                port_close(socket)
                throw error
            }
            let place = SocketPlace(
                folder: folder, name: name, lock: lock, identity: identity, path: absolute(path, folder, name))
            return (place, socket)
        } catch {
            lock.giveUp()
            throw error
        }
    }

    /// The folder of a path, and the name in it.
    static func parts(_ path: String) throws(TransportError) -> (SocketFolder, String) {
        let slash = path.utf8.lastIndex(of: UInt8(ascii: "/"))
        let name = String(path[(slash.map { path.utf8.index(after: $0) } ?? path.startIndex)...])
        guard !["", ".", ".."].contains(name) else {
            throw TransportError(.wrongDescriptor, "this is the path of a folder, not of a socket", context: [path])
        }
        do throws(TransportError) {
            // With its slash, the path of the root is not empty.
            return (try SocketFolder(slash.map { String(path[...$0]) } ?? "."), name)
        } catch {
            guard error.errno == ENOENT || error.errno == ENOTDIR else { throw error }
            throw TransportError(
                .notFound, "the folder for the socket does not exist", context: [path], errno: error.errno)
        }
    }

    private static func checkKind(of file: SocketFolder.File?, _ path: String) throws(TransportError) {
        guard let file, !file.isSocket else { return }
        throw TransportError(.wrongDescriptor, "there is a file that is not a socket", context: [path])
    }

    /// A listening socket under a temporary name.
    private static func listen(
        in folder: SocketFolder, _ path: String, _ backlog: Int
    ) throws(TransportError) -> (CInt, String, SocketFolder.Identity) {
        let (socket, name) = folder.makeUnnamed { port_bind_at(folder.descriptor, folder.path, $0, 0o600) }
        guard socket >= 0 else { throw .system("binding the socket", errno, context: [path]) }
        guard port_listen(socket, CInt(clamping: backlog)) == 0 else {
            let number = errno
            _ = port_remove_at(folder.descriptor, name)
            port_close(socket)
            throw .system("listening", number, context: [path])
        }
        guard let file = folder.file(named: name) else {
            let number = errno
            port_close(socket)
            throw .system("binding the socket", number, context: [path])
        }
        return (socket, name, file.identity)
    }

    /// Gives the socket its name, in the place of a stale one.
    private static func publish(
        _ temporary: String, as name: String, in folder: SocketFolder, _ path: String
    ) throws(TransportError) {
        while true {
            let found = folder.file(named: name)
            try checkKind(of: found, path)
            let result: CInt
            if let found {
                try checkStale(name, in: folder, path)
                // Another file has come in its place.
                guard folder.file(named: name)?.identity == found.identity else { continue }
                result = port_rename_over_at(folder.descriptor, temporary, name)
            } else {
                result = port_rename_new_at(folder.descriptor, temporary, name)
                if result < 0, errno == EEXIST { continue }
            }
            guard result == 0 else { throw .system("naming the socket", errno, context: [path]) }
            return
        }
    }

    /// Checks that nobody listens at a socket: a process that does not use the lock may.
    static func checkStale(_ name: String, in folder: SocketFolder, _ path: String) throws(TransportError) {
        let probe = port_connect_at(folder.descriptor, folder.path, name)
        guard probe >= 0 else {
            switch errno {
            case ECONNREFUSED, ENOENT: return
            // A full queue has an owner, too.
            case EAGAIN: throw .taken(path)
            case let number: throw .system("trying the socket that exists", number, context: [path])
            }
        }
        defer { port_close(probe) }
        var credentials = port_credentials()
        guard port_peer_credentials(probe, &credentials) == 0, credentials.pid > 0 else { throw .taken(path) }
        throw .taken(path, by: "process \(credentials.pid), which has no lock of this library")
    }

    private static func absolute(_ path: String, _ folder: SocketFolder, _ name: String) -> String {
        guard !path.hasPrefix("/"),
            let start = String(validating: folder.path.dropLast().map(UInt8.init), as: UTF8.self)
        else { return path }
        return start.hasSuffix("/") ? start + name : "\(start)/\(name)"
    }

    /// Removes the socket's file; the lock stays.
    func leaveName() { folder.remove(name, identity) }

    /// Removes the socket's file and the lock.
    ///
    /// - Parameter closing: Closes the socket, before the lock is given back.
    func leave(closing: () -> Void) {
        leaveName()
        closing()
        lock.release()
    }

    /// Closes the descriptors and leaves the files, which belong to the process that this one was forked from.
    func abandon() { lock.abandon() }
}
