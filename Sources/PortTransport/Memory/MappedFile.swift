internal import CPortShims

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// The bytes of a file, mapped into this process and only read.
///
/// It is unmapped when the last reference is gone.
package final class MappedFile: @unchecked Sendable {
    // The address never changes, and nothing is written.

    package let bytes: UnsafeRawBufferPointer

    /// - Parameter path: The path of a regular file.
    /// - Throws: `system` if the file cannot be opened or mapped.
    package init(_ path: String) throws(TransportError) {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw TransportError.system("open", errno) }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw TransportError.system("fstat", errno) }
        guard status.st_mode & S_IFMT == S_IFREG else { throw TransportError.system("map", ENODEV) }
        let size = Int(status.st_size)
        guard size > 0 else {
            bytes = UnsafeRawBufferPointer(start: nil, count: 0)
            return
        }
        guard let memory = mmap(nil, size, PROT_READ, MAP_PRIVATE, descriptor, 0), memory != MAP_FAILED else {
            throw TransportError.system("mmap", errno)
        }
        bytes = UnsafeRawBufferPointer(start: memory, count: size)
    }

    deinit {
        if let start = bytes.baseAddress { munmap(UnsafeMutableRawPointer(mutating: start), bytes.count) }
    }
}
