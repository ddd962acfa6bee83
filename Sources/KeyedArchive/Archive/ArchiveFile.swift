#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// An archive in a file, which is replaced as a whole or not at all.
///
/// A write goes to a temporary file in the same folder, syncs it to disk and renames it over the old file. A crash at
/// any moment leaves the old file or the new one, complete.
package struct ArchiveFile {
    let path: String

    package init(_ url: URL) throws {
        guard url.isFileURL else { throw ArchiveError(.unsupported, "only files can hold archives: \(url)") }
        path = url.path
    }

    // MARK: Reading

    func read(limits: ArchiveLimits) throws -> [UInt8] {
        let descriptor = Self.opened(Array(path.utf8CString), O_RDONLY)
        guard descriptor >= 0 else { throw failure("cannot be opened", errno) }
        defer { close(descriptor) }
        var info = stat()
        guard fstat(descriptor, &info) == 0 else { throw failure("cannot be examined", errno) }
        guard info.st_mode & S_IFMT != S_IFDIR else { throw failure("cannot be read", EISDIR) }
        guard info.st_size <= limits.bytes else {
            throw ArchiveError(
                .limit,
                "the file \(path) is larger than \(limits.bytes) bytes: raise ArchiveLimits.bytes if you trust it"
            )
        }
        // One byte more than the file's size shows its end without another allocation. The size may be unknown.
        var bytes = [UInt8]()
        var capacity = max(Int(info.st_size) + 1, 64 << 10)
        while true {
            let chunk = try chunk(descriptor, capacity)
            if bytes.isEmpty { bytes = chunk } else { bytes += chunk }
            if chunk.count < capacity { break }
            // The file is growing, or has no size and may never end: stop unless it begins like an archive.
            do {
                _ = try bytes.withUnsafeBytes { try ArchiveFormat.detect($0, limits: limits) }
            } catch let error as ArchiveError {
                throw naming(error)
            }
            guard bytes.count <= limits.bytes else {
                throw ArchiveError(.limit, "the file \(path) is larger than \(limits.bytes) bytes")
            }
            capacity = max(64 << 10, bytes.count)
        }
        return bytes
    }

    private func chunk(_ descriptor: CInt, _ capacity: Int) throws -> [UInt8] {
        var problem: CInt = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: capacity) { target, initialized in
            guard let base = target.baseAddress else { return }
            while initialized < capacity {
                let most = min(capacity - initialized, Self.most)
                let count = Self.retrying { systemRead(descriptor, base + initialized, most) }
                if count < 0 { problem = errno }
                guard count > 0 else { return }
                initialized += count
            }
        }
        guard problem == 0 else { throw failure("cannot be read", problem) }
        return bytes
    }

    /// Adds the file's path to an error in its content.
    func naming(_ error: ArchiveError) -> ArchiveError {
        ArchiveError(error.code, "the file \(path) cannot be opened: \(error.message)")
    }

    // MARK: Writing

    package func write(_ bytes: UnsafeRawBufferPointer) throws { try write { try $0(bytes) } }

    /// Replaces the file with the bytes that `content` passes on, piece by piece.
    func write(_ content: ((UnsafeRawBufferPointer) throws -> Void) throws -> Void) throws {
        // A symbolic link is kept: its target is replaced.
        let target = Self.resolved(path)
        try checkKind(of: target)
        let slash = CChar(bitPattern: UInt8(ascii: "/"))
        let folder = target.lastIndex(of: slash).map { Array(target[...$0]) } ?? []
        // The temporary file is in the same folder; its name contains the file's name unless that is too long.
        let isLong = target.count - folder.count > 201
        let ending = ".\(UInt32.random(in: .min ... .max)).new"
        let temporary = (isLong ? folder : Array(target.dropLast())) + Array(ending.utf8CString)
        let descriptor = Self.opened(temporary, O_WRONLY | O_CREAT | O_EXCL, 0o666)
        guard descriptor >= 0 else {
            throw failure("cannot be written", errno, advice: "the folder must exist and be writable")
        }
        do {
            defer { close(descriptor) }
            try keepPermissions(of: target, descriptor)
            try content { try write($0, descriptor) }
            guard fsync(descriptor) == 0 else { throw failure("cannot be written to the disk", errno) }
        } catch {
            unlink(temporary)
            throw error
        }
        guard rename(temporary, target) == 0 else {
            let problem = errno
            unlink(temporary)
            throw failure("cannot be replaced", problem)
        }
        // The new name is part of the folder, which needs its own sync; not all file systems support that.
        let directory = Self.opened(folder.isEmpty ? Array(".".utf8CString) : folder + [0], O_RDONLY)
        if directory >= 0 {
            fsync(directory)
            close(directory)
        }
    }

    /// A device, pipe or socket must not be replaced by a file.
    private func checkKind(of target: [CChar]) throws {
        var info = stat()
        guard stat(target, &info) == 0, info.st_mode & S_IFMT != S_IFREG else { return }
        if info.st_mode & S_IFMT == S_IFDIR { throw failure("cannot be replaced", EISDIR) }
        throw ArchiveError(.file, "the file \(path) cannot be replaced: it is not an ordinary file")
    }

    /// The path of the file itself as the system knows it, with a zero at its end; it need not be UTF-8.
    private static func resolved(_ path: String) -> [CChar] {
        guard let real = realpath(path, nil) else { return Array(path.utf8CString) }
        defer { free(real) }
        return Array(UnsafeBufferPointer(start: real, count: strlen(real) + 1))
    }

    private func keepPermissions(of target: [CChar], _ descriptor: CInt) throws {
        var info = stat()
        guard stat(target, &info) == 0 else { return }
        guard fchmod(descriptor, info.st_mode & 0o7777) == 0 else {
            throw failure("cannot be given its permissions", errno)
        }
        // Only a privileged process can keep another owner; otherwise the file belongs to the writer.
        if info.st_uid != geteuid() || info.st_gid != getegid() {
            _ = fchown(descriptor, info.st_uid, info.st_gid)
            _ = fchmod(descriptor, info.st_mode & 0o7777)
        }
    }

    private func write(_ bytes: UnsafeRawBufferPointer, _ descriptor: CInt) throws {
        var done = 0
        while done < bytes.count, let base = bytes.baseAddress {
            let count = Self.retrying { systemWrite(descriptor, base + done, min(bytes.count - done, Self.most)) }
            guard count > 0 else { throw failure("cannot be written", errno, advice: "is there room on the disk?") }
            done += count
        }
    }

    /// The most bytes for one system call: Apple's systems accept less than 2 GiB.
    private static let most = 1 << 30

    private static func retrying(_ body: () -> Int) -> Int {
        while true {
            let result = body()
            if result >= 0 || errno != EINTR { return result }
        }
    }

    private func failure(_ what: String, _ code: CInt, advice: String? = nil) -> ArchiveError {
        let reason = String(cString: strerror(code))
        let end = advice.map { "; \($0)" } ?? ""
        return ArchiveError(code == ENOENT ? .noSuchFile : .file, "the file \(path) \(what): \(reason)\(end)")
    }
}

private func systemRead(_ descriptor: CInt, _ target: UnsafeMutableRawPointer, _ count: Int) -> Int {
    read(descriptor, target, count)
}

private func systemWrite(_ descriptor: CInt, _ source: UnsafeRawPointer, _ count: Int) -> Int {
    write(descriptor, source, count)
}
