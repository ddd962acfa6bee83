extension ObjectEncoder {
    /// Writes the keys of the record that is being closed between its values, because a shape cannot have so many.
    ///
    /// - Complexity: Linear in the bytes of the record.
    func inlineKeys() throws {
        let keys = scope.writtenKeys
        let start = scope.start + MemoryLayout<UInt16>.size
        writeOut(behind: start)
        var values = ByteSink(capacity: output.count - start)
        defer { values.deallocate() }
        values.append(UnsafeRawBufferPointer(rebasing: output.bytes[start...]))
        output.count = start
        scope.openCounted(.explicit, at: start)
        output.paddedVarint()
        var source = ByteSource(values.bytes)
        // Where each value was and is.
        var moves: [(from: Int, to: Int)] = []
        for key in keys {
            output.string(key)
            let begin = source.position
            moves.append((start + begin, output.count))
            try source.skipValue(tables.shapes)
            output.append(UnsafeRawBufferPointer(rebasing: values.bytes[begin..<source.position]))
        }
        scope.keep(keys)
        output.patchPadded(scope.cursor, at: scope.start)
        guard state.deferredDepth == 0 else { return }
        var next = moves.startIndex
        moveConditionals { position in
            guard position >= start else { return position }
            // They are in the order of their positions.
            while next + 1 < moves.count, moves[next + 1].from <= position { next += 1 }
            return position - moves[next].from + moves[next].to
        }
    }
}
