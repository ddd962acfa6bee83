extension ObjectDecoder {
    // MARK: Keys

    /// Moves to the value of a key; false if there is none.
    @inline(__always)
    func locate(_ key: String) throws -> Bool {
        if frame.takeKey(key) { return true }
        return try search(key)
    }

    @inline(never)
    private func search(_ key: String) throws -> Bool {
        guard frame.layout == .keyed else {
            throw ArchiveError(.misuse, "no object is being decoded, so the key \(key) has no place")
        }
        return try move(to: StoredKey.escaped(key))
    }

    /// Moves to the value of a key in its stored form; false if there is none.
    func move(to key: String) throws -> Bool { try frame.seek(toKey: key, shapes) }

    /// Whether there is a value for a key.
    func contains(located key: String) -> Bool { contains(stored: StoredKey.escaped(key)) }

    /// Whether there is a value for a key in its stored form.
    func contains(stored key: String) -> Bool { frame.position(of: key) != nil }

    /// The error for a key that is not there.
    @inline(never)
    func missing(_ key: String) -> ArchiveError {
        let isSequential = frame.layout == .keyed && frame.storedKeys.first.flatMap(StoredKey.position) != nil
        var error = ArchiveError(
            .missingKey, isSequential ? "no key was encoded here, only values in order" : "no value for this key")
        error.prepend(.key(key))
        return error
    }

    /// Adds the key to an error's path, and indexes the record to keep it readable.
    @inline(never)
    func failed(_ error: any Error, _ key: String) -> ArchiveError { failed(error, at: .key(key)) }

    @inline(never)
    func failed(_ error: any Error, at step: ArchiveError.Step) -> ArchiveError {
        try? frame.makeIndex(shapes)
        return ArchiveError.wrapping(error, at: step)
    }

    // MARK: Opening

    /// Opens a shape's values at the current position.
    @inline(__always)
    func openShape(_ shape: Unmanaged<Shape>) throws {
        if try frame.openShape(shape) { try frame.openInline(shape, shapes, limits) { $0 } }
    }

    /// Reads a shape's number and finds the shape.
    @inline(__always)
    func readShape(_ source: inout ByteSource) throws -> (shape: Unmanaged<Shape>, number: Int) {
        let number = Int(try source.fixed(UInt16.self))
        guard number < state.shapeCount else { throw noSuchShape() }
        return (state.shapes[number].shape, number)
    }

    @inline(never)
    private func noSuchShape() -> ArchiveError { ArchiveError(.corrupt, "a shape that is not in the archive") }

    // MARK: Nesting

    /// Throws if another level of nesting would be too many.
    @inline(__always)
    func checkDepth() throws {
        guard state.depth < state.levels.room else { return try makeRoom() }
    }

    @inline(never)
    private func makeRoom() throws {
        guard state.depth < deepest else { throw limits.tooDeep }
        state.levels.makeRoom(for: state.depth, deepest: deepest)
    }

    /// Makes room for another level, and runs `body`, which goes there, on another stack if this one has many levels.
    ///
    /// For values outside of `levels.room` only: it takes stack.
    @inline(never)
    func deeper<R>(_ body: () throws -> R) throws -> R {
        try makeRoom()
        guard state.depth >= state.levels.segmentEnd else { return try body() }
        if notes.segments == nil { notes.segments = SegmentBudget(bytes: state.bodies.archive.count) }
        try notes.segments?.spend()
        let outer = state.levels.beginSegment(at: state.depth)
        defer { state.levels.endSegment(outer) }
        return try StackSegment.run(body)
    }

    /// Goes one level deeper, where there is room.
    ///
    /// - Parameter element: The index of what is read next, if it is an element that its collection's frame does not count.
    @inline(__always)
    func descend(from frame: DecoderFrame, element: Int = -1) {
        state.levels.levels[state.depth].note(frame, element: element)
        state.depth &+= 1
    }

    /// Notes the index of the element of a collection that is read next, in the level of the collection.
    @inline(__always)
    func note(element: Int) { state.levels.levels[state.depth &- 1].element = element }

    /// Goes back to the frame around the current one.
    @inline(__always)
    func closeFrame(_ outer: DecoderFrame) {
        let height = frame.height
        frame.dispose()
        frame = outer
        frame.height = height
        state.depth &-= 1
    }
}
