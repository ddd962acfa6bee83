#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

extension ChildProcess {
    /// The path of a program: a name without a slash is looked up beside this process's own program, a relative path
    /// counts from the current directory.
    ///
    /// - Returns: The path as the system knows it, which need not be UTF-8.
    /// - Throws: `launchFailed` if there is no such program, or the name contains a zero byte.
    package static func located(_ name: String) throws(TransportError) -> [UInt8] {
        guard !name.utf8.contains(0) else {
            throw TransportError(.launchFailed, "the program's name contains a zero byte")
        }
        guard !name.utf8.contains(UInt8(ascii: "/")) else {
            return name.hasPrefix("/") ? Array(name.utf8) : absolute(name)
        }
        guard let folder = OwnProgram.folder else {
            throw TransportError(
                .launchFailed, "the program cannot be looked for beside this one, whose place is unknown",
                context: [name])
        }
        let path = folder + Array(name.utf8)
        let isProgram = (path + [0]).withUnsafeBytes { bytes in
            access(bytes.bindMemory(to: CChar.self).baseAddress.unsafelyUnwrapped, X_OK) == 0
        }
        guard isProgram else {
            throw TransportError(
                .launchFailed,
                "there is no such program in \(String(decoding: folder, as: UTF8.self)), where this program is",
                context: [name])
        }
        return path
    }

    private static func absolute(_ path: String) -> [UInt8] {
        guard let current = getcwd(nil, 0) else { return Array(path.utf8) }
        defer { free(current) }
        return Array(UnsafeRawBufferPointer(start: current, count: strlen(current))) + Array("/\(path)".utf8)
    }
}
