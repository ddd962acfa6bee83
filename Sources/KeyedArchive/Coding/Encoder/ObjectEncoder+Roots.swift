extension ObjectEncoder {
    /// Begins an archive whose values have keys.
    func openRoots() {
        scope = EncoderScope(of: RootKeys.self, serial: 0, .unopened)
        output.byte(Tag.record)
        let record = record(for: RootKeys.self, kind: .record)
        if isSequential { openSequential(record) } else { openRecord(record) }
    }

    /// Ends an archive begun with `openRoots()`.
    func closeRoots() throws {
        if let failure = state.failure { throw failure }
        guard !state.isFinished else { throw ArchiveError(.misuse, "the archive is finished") }
        try closeScope()
        scope.close()
        try finish()
    }
}
