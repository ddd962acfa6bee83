/// Writes a whole archive, with values under keys, through an encoder.
struct ArchiveWriter {
    let encoder: ObjectEncoder
    let format: ArchiveFormat

    /// Begins an archive.
    init(
        _ format: ArchiveFormat, limits: ArchiveLimits, classes: ClassRegistry, isSequential: Bool = false
    ) {
        self.format = format
        encoder = ObjectEncoder(limits: limits, classes: classes)
        encoder.isSequential = isSequential
        encoder.marksForms = format != .compact
        encoder.openRoots()
    }

    /// Ends the archive.
    func finish() throws -> [UInt8] {
        try format.expectCurrent()
        try encoder.closeRoots()
        if format == .binary { return try AppleWriter.write(encoder).array() }
        if format == .xml {
            return try XMLPlistWriter.array(AppleWriter.write(encoder).inOnePiece(), limits: encoder.limits)
        }
        let front = CompactFile.front(encoder.shapes)
        defer { front.deallocate() }
        let total = front.count + encoder.byteCount
        return [UInt8](unsafeUninitializedCapacity: total) { target, initialized in
            let target = UnsafeMutableRawBufferPointer(target)
            target.copyMemory(from: front.bytes)
            encoder.copyBytes(to: UnsafeMutableRawBufferPointer(rebasing: target[front.count...]))
            initialized = total
        }
    }

    /// Ends the archive and passes it to `receiver` in pieces; each is valid during the call.
    func finish(to receiver: (UnsafeRawBufferPointer) throws -> Void) throws {
        try format.expectCurrent()
        try encoder.closeRoots()
        if format == .binary { return try AppleWriter.write(encoder).write(to: receiver) }
        if format == .xml {
            return try XMLPlistWriter.write(
                AppleWriter.write(encoder).inOnePiece(), limits: encoder.limits, to: receiver)
        }
        let front = CompactFile.front(encoder.shapes)
        defer { front.deallocate() }
        try receiver(front.bytes)
        try encoder.forEachSegment(receiver)
    }
}
