#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// A file that replaces another one when it is complete.
///
/// It is written next to the old file: readers see the old content or the new one, even after a crash. Standard output,
/// and anything that is not an ordinary file, such as a pipe or a terminal, is written directly.
final class ReplacementFile {
    private let path: String
    /// The file to replace, the target of a symbolic link, as the system knows it: with a zero at its end, and not always
    /// UTF-8.
    private let target: [CChar]
    /// Nil if the target itself is written.
    private var temporary: [CChar]?
    private(set) var descriptor: CInt = -1

    init(_ path: String) throws {
        self.path = path
        guard path != StandardStreams.name else {
            target = Array(path.utf8CString)
            descriptor = fcntl(1, F_DUPFD_CLOEXEC, 3)
            guard descriptor >= 0 else { throw FileError(path, cannotBe: "written", errno: errno) }
            return
        }
        var status = stat()
        let isThere = stat(path, &status) == 0
        target = (isThere ? Self.resolved(path) : nil) ?? Array(path.utf8CString)
        if isThere && status.st_mode & S_IFMT != S_IFREG {
            descriptor = open(path, O_WRONLY | O_CLOEXEC)
        } else {
            try makeTemporary()
            if isThere { fchmod(descriptor, status.st_mode & 0o7777) }
        }
        guard descriptor >= 0 else { throw FileError(path, cannotBe: "written", errno: errno) }
    }

    deinit { discard() }

    private static func resolved(_ path: String) -> [CChar]? {
        guard let real = realpath(path, nil) else { return nil }
        defer { free(real) }
        return Array(UnsafeBufferPointer(start: real, count: strlen(real) + 1))
    }

    private func makeTemporary() throws {
        for _ in 0..<16 {
            let ending = ".\(String(UInt32.random(in: 0 ... .max), radix: 36))"
            let name = Array(target.dropLast()) + Array(ending.utf8CString)
            descriptor = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o666)
            if descriptor >= 0 {
                temporary = name
                return
            }
            guard errno == EEXIST else { break }
        }
        throw FileError(path, cannotBe: "written", errno: errno)
    }

    /// Replaces the file with what was written.
    func commit() throws {
        guard let temporary else { return discard() }
        guard fsync(descriptor) == 0, rename(temporary, target) == 0 else {
            throw FileError(path, cannotBe: "written", errno: errno)
        }
        self.temporary = nil
        discard()
        syncFolder()
    }

    /// Syncs the folder, which makes the new name durable; not all file systems support that.
    private func syncFolder() {
        let slash = target.lastIndex(of: CChar(bitPattern: UInt8(ascii: "/")))
        let folder = slash.map { Array(target[...$0]) + [0] } ?? Array(".".utf8CString)
        let descriptor = open(folder, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return }
        fsync(descriptor)
        close(descriptor)
    }

    /// Removes the temporary file, unless it was committed.
    func discard() {
        if let temporary { unlink(temporary) }
        temporary = nil
        if descriptor >= 0 { close(descriptor) }
        descriptor = -1
    }
}
