extension ObjectEncoder {
    /// Removes what was encoded for a key before something else was, from the record that is being closed.
    ///
    /// Coders of `Codable` types keep the last value for a key. A class that encodes itself with `encode(with:)` and uses a
    /// key twice would hide a mistake, which throws.
    ///
    /// - Complexity: Linear in the number of keys; in the bytes of the record if a key occurs twice.
    func keepLastValues() throws {
        let keys = scope.writtenKeys
        guard let twice = keys.firstRepeated else { return }
        guard scope.isValue else {
            throw fail(ArchiveError(.duplicateKey, "the key \(StoredKey.unescaped(twice)) was encoded twice"))
        }
        let hasInlineKeys = scope.layout == .explicit
        let start = scope.start + (hasInlineKeys ? ByteSink.paddedWidth : MemoryLayout<UInt16>.size)
        writeOut(behind: start)
        var last: [String: Int] = [:]
        for (index, key) in keys.enumerated() { last[key] = index }
        var source = ByteSource(output.bytes, from: start)
        var removed: [Range<Int>] = []
        for (index, key) in keys.enumerated() {
            let begin = source.position
            if hasInlineKeys { try source.skipValue(tables.shapes) }
            try source.skipValue(tables.shapes)
            if last[key] != index { removed.append(begin..<source.position) }
        }
        for range in removed.reversed() { remove(range) }
        scope.keep(keys.enumerated().filter { last[$0.element] == $0.offset }.map(\.element))
    }

    /// Copies the large data behind a position into the output, whose values can be walked then.
    func writeOut(behind start: Int) {
        // The places of large data are in the main output only.
        guard state.deferredDepth == 0 else { return }
        for blob in tables.takeBlobs(behind: start).reversed() {
            output.insert(blob.bytes, at: blob.position)
            moveConditionals { $0 >= blob.position ? $0 + blob.bytes.count : $0 }
        }
    }

    private func remove(_ range: Range<Int>) {
        output.remove(range)
        guard state.deferredDepth == 0 else { return }
        moveConditionals { range.contains($0) ? nil : $0 < range.lowerBound ? $0 : $0 - range.count }
    }

    func moveConditionals(_ position: (Int) -> Int?) {
        guard !tables.conditionals.isEmpty else { return }
        tables.conditionals = tables.conditionals.compactMap { entry in
            position(entry.position).map { ($0, entry.object) }
        }
    }
}

extension [String] {
    /// The first element that was there before.
    fileprivate var firstRepeated: String? {
        // Few strings are compared faster than hashed.
        if count <= 8 { return indices.first { self[..<$0].contains(self[$0]) }.map { self[$0] } }
        var seen: Set<String> = []
        return first { !seen.insert($0).inserted }
    }
}
