import KeyedArchive

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// An archive in a file, opened as a graph.
struct ArchiveFile {
    let path: String
    /// The size in bytes.
    let size: Int
    let format: ArchiveFormat
    let graph: ArchivedGraph

    /// Bounds for files that the user chose to open: above the library's defaults, which are for untrusted input.
    ///
    /// An archive still takes no more memory than its size justifies.
    static let limits: ArchiveLimits = {
        var limits = ArchiveLimits()
        limits.bytes = Int(UInt32.max)
        limits.objects = 1 << 28
        limits.string = 1 << 31
        limits.collection = 1 << 28
        limits.shapes = 0xFFFF
        return limits
    }()

    init(_ path: String, progress: Progress) throws {
        self.path = path
        let bytes = try Self.read(path, progress)
        size = bytes.count
        format = try Self.format(of: bytes, path)
        do {
            progress.show("opening \(path)")
            graph = try ArchivedGraph(bytes, limits: Self.limits, anyArchiver: true)
        } catch {
            throw FileError(path, "\(error)")
        }
    }

    /// A short description.
    var summary: String {
        let count = graph.objects.count
        let objects = "\(count) object\(count == 1 ? "" : "s")"
        guard let archiver = graph.archiver else { return "\(format), \(objects)" }
        return "\(format), by \(PlainText.name(archiver)), version \(graph.version), \(objects)"
    }

    private static func format(of bytes: [UInt8], _ path: String) throws -> ArchiveFormat {
        if let format = ArchiveFormat(detecting: bytes) { return format }
        // Opening the file gives a more precise reason.
        do { _ = try ArchivedGraph(bytes, limits: limits) } catch { throw FileError(path, "\(error)") }
        throw FileError(path, "not an archive")
    }

    /// Reads the whole file; reads pipes to their end.
    private static func read(_ path: String, _ progress: Progress) throws -> [UInt8] {
        let isInput = path == StandardStreams.name
        let descriptor = isInput ? fcntl(0, F_DUPFD_CLOEXEC, 3) : open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw FileError(path, cannotBe: "read", errno: errno) }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw FileError(path, cannotBe: "read", errno: errno) }
        let size = Int(status.st_size)
        guard size <= limits.bytes else {
            throw FileError(path, "has more than \(limits.bytes) bytes, too many for an archive")
        }
        // One byte more than expected shows the end of the file without a larger array.
        var bytes: [UInt8] = []
        var block = max(size + 1, 1 << 16)
        while true {
            let count = try append(to: &bytes, atMost: block, from: descriptor, path, size, progress)
            if count < block { return bytes }
            // There is more than the size of the file: it may never end, so check that it begins like an archive.
            _ = try format(of: bytes, path)
            guard bytes.count <= limits.bytes else {
                throw FileError(path, "has more than \(limits.bytes) bytes, too many for an archive")
            }
            block = max(bytes.count, 1 << 16)
        }
    }

    /// Reads up to a number of bytes, fewer only at the end.
    private static func append(
        to bytes: inout [UInt8], atMost limit: Int, from descriptor: CInt, _ path: String, _ size: Int,
        _ progress: Progress
    ) throws -> Int {
        var failure: CInt = 0
        let more = [UInt8](unsafeUninitializedCapacity: limit) { target, filled in
            while filled < limit {
                let room = UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(target)[filled...])
                #if canImport(Glibc)
                    let count = Glibc.read(descriptor, room.baseAddress, min(room.count, 8 << 20))
                #else
                    let count = Darwin.read(descriptor, room.baseAddress, min(room.count, 8 << 20))
                #endif
                if count < 0 && errno == EINTR { continue }
                if count < 0 { failure = errno }
                guard count > 0 else { break }
                filled += count
                progress.show("reading \(path)", bytes.count + filled, of: size)
            }
        }
        guard failure == 0 else { throw FileError(path, cannotBe: "read", errno: failure) }
        if bytes.isEmpty { bytes = more } else { bytes += more }
        return more.count
    }
}
