extension ObjectEncoder {
    /// Begins an archive whose values have keys.
    func openRoots() {
        scope = EncoderScope(of: RootKeys.self, serial: state.nextSerial(), .unopened)
        output.byte(Tag.record)
        let record = record(for: RootKeys.self, kind: .record)
        if isSequential { openSequential(record) } else { openRecord(record) }
    }

    /// Ends an archive begun with `openRoots()`.
    func finishArchive(format: ArchiveFormat) throws -> [UInt8] {
        try closeRoots()
        if format == .binary { return try AppleWriter.write(self).array() }
        if format == .xml { return try XMLPlistWriter.array(AppleWriter.write(self).inOnePiece(), limits: limits) }
        let front = CompactFile.front(shapes)
        defer { front.deallocate() }
        let total = front.count + byteCount
        return [UInt8](unsafeUninitializedCapacity: total) { target, initialized in
            let target = UnsafeMutableRawBufferPointer(target)
            target.copyMemory(from: front.bytes)
            copyBytes(to: UnsafeMutableRawBufferPointer(rebasing: target[front.count...]))
            initialized = total
        }
    }

    /// Ends an archive begun with `openRoots()` and hands it over in pieces, each of which is valid during the call.
    func finishArchive(format: ArchiveFormat, to receiver: (UnsafeRawBufferPointer) throws -> Void) throws {
        try closeRoots()
        if format == .binary { return try AppleWriter.write(self).write(to: receiver) }
        if format == .xml {
            return try XMLPlistWriter.write(AppleWriter.write(self).inOnePiece(), limits: limits, to: receiver)
        }
        let front = CompactFile.front(shapes)
        defer { front.deallocate() }
        try receiver(front.bytes)
        try forEachSegment(receiver)
    }

    private func closeRoots() throws {
        if let failure = state.failure { throw failure }
        guard !state.isFinished else { throw ArchiveError(.misuse, "the archive is finished") }
        try closeScope()
        scope.close()
        try finish()
    }
}
