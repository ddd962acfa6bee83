extension ObjectDecoder {
    /// Opens the value of the current frame as a record.
    func openKeyed() throws {
        if frame.layout == .keyed { return }
        frame.rewind()
        if frame.isKeyedBody, let shape = frame.shape { return try openShape(shape) }
        // A type may read by keys what another wrote as a dictionary, and other archivers write no records.
        if input.take(Tag.map) {
            return try frame.openInline(nil, shapes, limits, stored: StoredKey.escaped)
        }
        try expect(Tag.record, "keys and values", [String: Any].self)
        let (shape, _) = try readShape(&input)
        guard shape.takeUnretainedValue().kind == .record, shape.takeUnretainedValue().layout != .single else {
            throw ArchiveError(.corrupt, "a value with the shape of an object")
        }
        try openShape(shape)
    }

    /// Opens the value of the current frame as a list; returns the count of elements, and where the first one begins.
    func openList() throws -> (count: Int, first: Int) {
        if frame.layout == .list { return (frame.count, try frame.firstElement) }
        try toSingle([Any].self)
        let start = input.position
        let tag = try input.byte()
        let count: Int
        switch tag {
        case Tag.list, Tag.set: count = try input.elementCount(limits)
        // Only what has keys of another kind than a keyed container's is read as a list, keys and values in turn.
        case Tag.map where try !isMapByKeys(input): count = try input.pairCount(limits) * 2
        case Tag.packed, Tag.references, Tag.bytes: count = try frame.rewrite(tag, limits)
        default:
            input.seek(to: start)
            throw mismatch("a list", [Any].self)
        }
        frame.openList(count)
        return (count, input.position)
    }

    /// Whether the dictionary whose content comes next is one for a keyed container.
    private func isMapByKeys(_ content: ByteSource) throws -> Bool {
        var content = content
        guard try content.pairCount(limits) > 0 else { return foreign != nil }
        let key = try content.peek()
        switch key {
        case 0...0x7F, Tag.integer, Tag.unsigned, Tag.firstString...Tag.lastString, Tag.string: return true
        default: return false
        }
    }

    /// Goes to the value of the current frame, to read it without container.
    ///
    /// - Parameter type: What is read there.
    @inline(__always)
    func toSingle(_ type: Any.Type) throws {
        frame.rewind()
        if frame.isBody { try checkSingle(type) }
    }

    private func checkSingle(_ type: Any.Type) throws {
        guard let shape = frame.shape?.takeUnretainedValue(), shape.layout == .single else {
            throw ArchiveError(expected: type, "expected a single value, found keys")
        }
    }

    /// Reads the value of the current frame once more, although a container of it is open.
    @inline(never)
    func again<R>(_ body: () throws -> R) throws -> R {
        let outer = frame
        frame = outer.unopened(serial: outer.serial)
        defer {
            let height = frame.height
            frame.dispose()
            frame = outer
            frame.height = height
        }
        return try body()
    }

    /// A view of the value of the current frame, of which a container of another kind is open.
    func detachAgain(_ outer: DetachedFrame?) -> DetachedFrame {
        DetachedFrame(
            frame.unopened(serial: state.nextSerial()), in: frame.extras?.takeUnretainedValue(), at: nil,
            of: frame.serial, outer)
    }

    /// A view of the value at the current position.
    func detach(at step: ArchiveError.Step, _ outer: DetachedFrame?) throws -> DetachedFrame {
        try checkDepth()
        let value = DecoderFrame(valueIn: frame, serial: state.nextSerial())
        return DetachedFrame(value, in: frame.extras?.takeUnretainedValue(), at: step, of: frame.serial, outer)
    }

    /// A view of a nil, for a key that is not there.
    func detachNil(at step: ArchiveError.Step, _ outer: DetachedFrame?) -> DetachedFrame {
        let value = DecoderFrame(valueIn: frame, at: ByteSource(Self.nothing.bytes), serial: state.nextSerial())
        return DetachedFrame(value, in: nil, at: step, of: frame.serial, outer)
    }

    /// A nil that is in no archive.
    private static let nothing = ArchiveBytes([Tag.none])
}
