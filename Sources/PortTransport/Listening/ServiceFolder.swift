internal import CPortShims

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// The folder with the sockets of this user's services, one for each name.
///
/// On Linux it is `distant` in `XDG_RUNTIME_DIR`, or in `/run/user/UID` without that variable; on macOS in the user's temporary folder.
/// There is no other place to fall back to: with two places there would be two services of one name.
package enum ServiceFolder {
    /// The longest name, in bytes.
    private static let longestName = 64

    /// The path of a service's socket.
    ///
    /// - Parameter isMade: Whether the folder is made if there is none.
    /// - Throws: `invalidName`; `noRuntimeFolder` if the user has none that only this user can use; `wrongDescriptor` if the folder in
    ///   it belongs to somebody else, or others can use it; `system`.
    package static func socket(of name: String, makingFolder isMade: Bool) throws(TransportError) -> String {
        try check(name)
        return try folder(isMade: isMade, of: name) + "/\(name)"
    }

    /// Checks the name of a service.
    ///
    /// - Throws: `invalidName`.
    package static func check(_ name: String) throws(TransportError) {
        let isAllowed = name.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"):
                true
            default: false
            }
        }
        guard isAllowed, 1...longestName ~= name.utf8.count, name.first != ".", name.first != "-" else {
            throw TransportError(
                .invalidName,
                "the name of a service has 1 to \(longestName) letters of ASCII, digits, dots, hyphens and underscores, and begins with "
                    + "neither dot nor hyphen", context: [name])
        }
    }

    /// The services that have a lock, in the order of their names.
    ///
    /// - Throws: As `socket(of:makingFolder:)`.
    package static func services() throws(TransportError) -> [RegisteredService] {
        let path = try folder(isMade: false, of: nil)
        guard let stream = opendir(path) else {
            if errno == ENOENT { return [] }
            throw .system("reading the folder of services", errno, context: [path])
        }
        defer { closedir(stream) }
        let folder = try SocketFolder(path)
        var services: [RegisteredService] = []
        while let entry = readdir(stream) {
            let file = withUnsafeBytes(of: entry.pointee.d_name) { bytes in
                String(validating: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            guard let name = file.flatMap(ListenerLock.socket(ofLockNamed:)), (try? check(name)) != nil,
                let (holder, isHeld) = ListenerLock.look(at: name, in: folder)
            else { continue }
            services.append(
                RegisteredService(
                    name: name, state: !isHeld ? .stale : holder?.startLimit != nil ? .starting : .running,
                    pid: holder?.pid ?? 0, program: holder?.program ?? "unknown", version: holder?.version ?? "unknown")
            )
        }
        return services.sorted { $0.name < $1.name }
    }

    /// The path of the folder.
    private static func folder(isMade: Bool, of name: String?) throws(TransportError) -> String {
        let context = name.map { [$0] } ?? []
        let path = try runtimeFolder(context) + "/distant"
        if isMade, port_make_folder(path) < 0, errno != EEXIST {
            throw .system("making the folder of services", errno, context: context + [path])
        }
        switch state(of: path, followsLinks: false) {
        case .usable, .missing: return path
        case .unusable(let reason):
            throw TransportError(.wrongDescriptor, "the folder of services \(path) \(reason)", context: context)
        }
    }

    // MARK: The user's folder

    private enum FolderState {
        case usable
        case missing
        case unusable(String)
    }

    private static func runtimeFolder(_ context: [String]) throws(TransportError) -> String {
        #if canImport(Darwin)
            let size = confstr(_CS_DARWIN_USER_TEMP_DIR, nil, 0)
            var path = [CChar](repeating: 0, count: max(size, 1))
            guard size > 0, confstr(_CS_DARWIN_USER_TEMP_DIR, &path, size) > 0 else {
                throw .system("looking up the user's temporary folder", errno, context: context)
            }
            let folder = String(cString: path)
            return folder.hasSuffix("/") ? String(folder.dropLast()) : folder
        #else
            let variable = "XDG_RUNTIME_DIR"
            if let value = getenv(variable), value.pointee != 0 {
                guard let path = String(validatingCString: value), path.hasPrefix("/") else {
                    throw noFolder("\(variable) is no absolute path in UTF-8", context)
                }
                switch state(of: path, followsLinks: true) {
                case .usable: return path
                case .missing: throw noFolder("the folder \(path), which \(variable) names, does not exist", context)
                case .unusable(let reason):
                    throw noFolder("the folder \(path), which \(variable) names, \(reason)", context)
                }
            }
            let path = "/run/user/\(geteuid())"
            switch state(of: path, followsLinks: true) {
            case .usable: return path
            case .missing: throw noFolder("\(variable) is not set, and \(path) does not exist", context)
            case .unusable(let reason): throw noFolder("\(variable) is not set, and \(path) \(reason)", context)
            }
        #endif
    }

    private static func noFolder(_ reason: String, _ context: [String]) -> TransportError {
        TransportError(
            .noRuntimeFolder, "services have their sockets in a folder that only their user can use: \(reason)",
            context: context)
    }

    /// Whether a folder belongs to this user alone.
    private static func state(of path: String, followsLinks: Bool) -> FolderState {
        var status = stat()
        guard (followsLinks ? stat(path, &status) : lstat(path, &status)) == 0 else {
            return errno == ENOENT ? .missing : .unusable("cannot be examined: \(TransportError.reason(errno))")
        }
        guard status.st_mode & S_IFMT == S_IFDIR else { return .unusable("is no folder") }
        guard status.st_uid == geteuid() else { return .unusable("belongs to user \(status.st_uid)") }
        let mode = status.st_mode & 0o777
        guard mode & 0o077 == 0, mode & 0o700 == 0o700 else {
            return .unusable("has mode \(String(mode, radix: 8)) and not 700")
        }
        return .usable
    }
}
