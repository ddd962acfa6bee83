extension ObjectDecoder {
    /// Opens the value of the current frame as a record.
    func openKeyed() throws {
        let s = state
        switch s.pointee.frame.layout {
        case .keyed: return
        case .unopened: break
        default: throw ArchiveError(.misuse, "a value asked for containers of two kinds")
        }
        s.pointee.frame.source.position = s.pointee.frame.start
        if s.pointee.frame.isBody {
            guard let shape = s.pointee.frame.shape, shape.takeUnretainedValue().layout != .single else {
                throw ArchiveError(.typeMismatch, "expected keys, found an object that is a single value")
            }
            return try openShape(shape)
        }
        let tag = try s.pointee.frame.source.byte()
        if tag == Tag.map, foreign != nil { return try openMap() }
        guard tag == Tag.record else {
            s.pointee.frame.source.position = s.pointee.frame.start
            throw ArchiveError(.typeMismatch, "expected keys and values, found \(Tag.describe(tag))")
        }
        let (shape, _) = try readShape(&s.pointee.frame.source)
        guard shape.takeUnretainedValue().kind == .record, shape.takeUnretainedValue().layout != .single else {
            throw ArchiveError(.corrupt, "a value with the shape of an object")
        }
        try openShape(shape)
    }

    /// Opens the value of the current frame as a list; returns the count of elements.
    func openList() throws -> Int {
        let s = state
        switch s.pointee.frame.layout {
        case .list: return s.pointee.frame.keyCount
        case .unopened: break
        default: throw ArchiveError(.misuse, "a value asked for containers of two kinds")
        }
        try toSingle()
        let start = s.pointee.frame.source.position
        let tag = try s.pointee.frame.source.byte()
        var count: Int
        switch tag {
        case Tag.list, Tag.set:
            count = try s.pointee.frame.source.count(eachAtLeast: 1, limit: limits.collection, "elements")
        case Tag.map:
            count = try s.pointee.frame.source.count(eachAtLeast: 2, limit: limits.collection, "elements") * 2
        case Tag.packed, Tag.references, Tag.bytes:
            count = try openRewritten(tag)
        default:
            s.pointee.frame.source.position = start
            throw ArchiveError(.typeMismatch, "expected a list, found \(Tag.describe(tag))")
        }
        s.pointee.frame.layout = .list
        s.pointee.frame.keyCount = count
        s.pointee.frame.cursor = 0
        return count
    }

    /// Opens a packed list for readers that take one element after the other: the elements are written out anew.
    private func openRewritten(_ tag: UInt8) throws -> Int {
        let s = state
        var sink = ByteSink()
        let extras = FrameExtras()
        defer {
            extras.scratch = sink
            s.pointee.frame.extras?.release()
            s.pointee.frame.extras = Unmanaged.passRetained(extras)
        }
        let count = try s.pointee.frame.source.rewriteElements(tag, limits, into: &sink)
        let end = UnsafeMutablePointer<Int>.allocate(capacity: 1)
        end.initialize(to: s.pointee.frame.source.position)
        s.pointee.frame.index?.deallocate()
        s.pointee.frame.index = end
        s.pointee.frame.source = ByteSource(
            base: sink.bytes.baseAddress ?? s.pointee.frame.source.base, position: 0, end: sink.count)
        return count
    }

    /// Goes to the value of the current frame, to read it without container.
    func openSingle() throws {
        switch state.pointee.frame.layout {
        case .unopened, .single: try toSingle()
        default: throw ArchiveError(.misuse, "a value asked for containers of two kinds")
        }
    }

    private func toSingle() throws {
        let s = state
        s.pointee.frame.source.position = s.pointee.frame.start
        guard s.pointee.frame.isBody else { return }
        guard let shape = s.pointee.frame.shape?.takeUnretainedValue(), shape.layout == .single else {
            throw ArchiveError(.typeMismatch, "expected a single value, found keys")
        }
    }

    /// A view of the value at the current position.
    func detach() throws -> DetachedFrame {
        let s = state
        guard s.pointee.depth < deepest else {
            throw ArchiveError(.limit, "values nested deeper than \(limits.depth)")
        }
        s.pointee.serials += 1
        return DetachedFrame(
            DecoderFrame(
                source: s.pointee.frame.source, start: s.pointee.frame.source.position, serial: s.pointee.serials,
                object: s.pointee.frame.object, layout: .unopened),
            in: s.pointee.frame.extras?.takeUnretainedValue())
    }
}
