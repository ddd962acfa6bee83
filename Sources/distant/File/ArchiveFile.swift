import KeyedArchive

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// An archive in a file, opened as a graph.
struct ArchiveFile {
    /// The graph, which depends on the format.
    enum Content {
        case keyed(ArchivedGraph)
        case typedstream(TypedStreamGraph)
        case nibArchive(NIBArchiveGraph)
    }

    let path: String
    /// The size in bytes.
    let size: Int
    let format: ArchiveFormat
    let content: Content

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

    /// - Parameter json: Whether the file may be the JSON of a typedstream.
    init(_ path: String, json: Bool = false, progress: Progress) throws {
        self.path = path
        var bytes = try Self.read(path, json: json, progress)
        size = bytes.count
        do {
            progress.show("opening \(path)")
            if json, Self.isJSON(bytes) {
                bytes = try TypedStreamJSONReader.bytes(from: bytes, progress: progress)
            }
            format = try Self.format(of: bytes, path)
            content =
                switch format {
                case .typedstream: .typedstream(try TypedStreamGraph(bytes, limits: Self.limits))
                case .nibArchive: .nibArchive(try NIBArchiveGraph(bytes, limits: Self.limits))
                default: try Self.keyed(bytes, progress)
                }
        } catch let error as FileError {
            throw error
        } catch {
            throw FileError(path, "\(error)")
        }
    }

    /// Opens a keyed archive, or the property list of a typedstream.
    private static func keyed(_ bytes: [UInt8], _ progress: Progress) throws -> Content {
        let failure: any Error
        do { return .keyed(try ArchivedGraph(bytes, limits: limits, anyArchiver: true)) } catch { failure = error }
        guard let list = try? PlainPropertyList(bytes, limits: limits) else { throw failure }
        guard !list.hasKey("nibArchive") else {
            throw ArchiveError(.unsupported, "the property list of a NIBArchive, which nothing reads")
        }
        guard list.hasKey("groups"), list.hasKey("labels") else { throw failure }
        let json = try PropertyListJSON.json(list, limit: GraphJSON.longest(fileSize: bytes.count))
        let stream = try TypedStreamJSONReader.bytes(from: json, isMade: true, progress: progress)
        return .typedstream(try TypedStreamGraph(stream, limits: limits))
    }

    private static func isJSON(_ bytes: [UInt8]) -> Bool {
        bytes.first { $0 != 0x20 && !(0x09...0x0D).contains($0) } == UInt8(ascii: "{")
    }

    /// A short description.
    var summary: String {
        switch content {
        case .keyed(let graph): summary(graph)
        case .typedstream(let graph): summary(graph)
        case .nibArchive(let graph):
            "NIBArchive, coder \(graph.coderVersion), \(Self.count(graph.objects.count, "object"))"
                + ", \(Self.count(graph.classes.count, "class", "es"))"
        }
    }

    private func summary(_ graph: TypedStreamGraph) -> String {
        var objects = 0
        var classes = 0
        var strings = 0
        for label in graph.labels {
            switch label {
            case .object: objects += 1
            case .type: classes += 1
            case .cString: strings += 1
            }
        }
        var groups = 0
        for _ in graph.groups { groups += 1 }
        let counts = [
            Self.count(objects, "object"), Self.count(classes, "class", "es"),
            strings == 0 ? nil : Self.count(strings, "C string"), Self.count(groups, "group"),
        ]
        let order = graph.isBigEndian ? "big" : "little"
        let name = format == .typedstream ? "typedstream" : "typedstream as a property list (\(format))"
        return "\(name), \(order)-endian, system \(graph.systemVersion), "
            + counts.compactMap(\.self).joined(separator: ", ")
    }

    private static func count(_ count: Int, _ word: String, _ many: String = "s") -> String {
        "\(count) \(word)\(count == 1 ? "" : many)"
    }

    private func summary(_ graph: ArchivedGraph) -> String {
        let objects = Self.count(graph.objects.count, "object")
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
    private static func read(_ path: String, json: Bool, _ progress: Progress) throws -> [UInt8] {
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
            if !json || !isJSON(bytes) { _ = try format(of: bytes, path) }
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
