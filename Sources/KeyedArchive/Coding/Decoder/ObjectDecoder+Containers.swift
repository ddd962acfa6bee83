extension ObjectDecoder {
    /// Opens the value of the current frame as a record.
    func openKeyed() throws {
        switch frame.layout {
        case .keyed: return
        case .unopened: break
        default: throw twoKinds()
        }
        frame.rewind()
        if frame.isBody {
            guard let shape = frame.shape, shape.takeUnretainedValue().layout != .single else {
                throw ArchiveError(.typeMismatch, "expected keys, found an object that is a single value")
            }
            return try openShape(shape)
        }
        // Other archivers write dictionaries with string keys instead of records.
        if foreign != nil, input.take(Tag.map) {
            return try frame.openInline(shapes, limits, stored: StoredKey.escaped)
        }
        try expect(Tag.record, "keys and values")
        let (shape, _) = try readShape(&input)
        guard shape.takeUnretainedValue().kind == .record, shape.takeUnretainedValue().layout != .single else {
            throw ArchiveError(.corrupt, "a value with the shape of an object")
        }
        try openShape(shape)
    }

    /// Opens the value of the current frame as a list; returns the count of elements.
    func openList() throws -> Int {
        switch frame.layout {
        case .list: return frame.count
        case .unopened: break
        default: throw twoKinds()
        }
        try toSingle()
        let start = input.position
        let tag = try input.byte()
        let count: Int
        switch tag {
        case Tag.list, Tag.set: count = try input.elementCount(limits)
        case Tag.map: count = try input.pairCount(limits) * 2
        case Tag.packed, Tag.references, Tag.bytes: count = try frame.rewrite(tag, limits)
        default:
            input.seek(to: start)
            throw mismatch("a list")
        }
        frame.openList(count)
        return count
    }

    /// Goes to the value of the current frame, to read it without container.
    func openSingle() throws {
        switch frame.layout {
        case .unopened, .single: try toSingle()
        default: throw twoKinds()
        }
    }

    private func twoKinds() -> ArchiveError { ArchiveError(.misuse, "a value requested containers of two kinds") }

    private func toSingle() throws {
        frame.rewind()
        guard frame.isBody else { return }
        guard let shape = frame.shape?.takeUnretainedValue(), shape.layout == .single else {
            throw ArchiveError(.typeMismatch, "expected a single value, found keys")
        }
    }

    /// A view of the value at the current position.
    func detach() throws -> DetachedFrame {
        try checkDepth()
        let value = DecoderFrame(valueIn: frame, serial: state.nextSerial())
        return DetachedFrame(value, in: frame.extras?.takeUnretainedValue())
    }
}
