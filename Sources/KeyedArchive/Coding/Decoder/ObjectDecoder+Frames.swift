extension ObjectDecoder {
    // MARK: Keys

    /// Moves to the value of a key; false if there is none.
    @inline(__always)
    func locate(_ key: String) throws -> Bool {
        let s = state
        let cursor = s.pointee.frame.cursor
        if cursor < s.pointee.frame.keyCount && s.pointee.frame.keys[cursor] == key
            && s.pointee.frame.index == nil
        {
            s.pointee.frame.cursor = cursor &+ 1
            return true
        }
        return try search(key)
    }

    @inline(never)
    private func search(_ key: String) throws -> Bool {
        let s = state
        guard s.pointee.frame.layout == .keyed else {
            throw ArchiveError(.misuse, "no object is being decoded, so the key \(key) has no place")
        }
        return try move(to: StoredKey.escaped(key))
    }

    /// Moves to the value of a key as it stands in archives; false if there is none.
    func move(to key: String) throws -> Bool {
        let s = state
        guard let position = position(of: key) else { return false }
        try makeIndex()
        guard let index = s.pointee.frame.index else { return false }
        s.pointee.frame.source.position = index[position]
        return true
    }

    private func position(of key: String) -> Int? {
        let frame = state
        if let extras = frame.pointee.frame.extras { return extras.takeUnretainedValue().positions[key] }
        return frame.pointee.frame.shape?.takeUnretainedValue().position(of: key)
    }

    /// Finds where all values of the open record begin.
    func makeIndex() throws {
        let s = state
        guard s.pointee.frame.index == nil else { return }
        var source = s.pointee.frame.source
        source.position = s.pointee.frame.start
        let count = s.pointee.frame.keyCount
        let index = UnsafeMutablePointer<Int>.allocate(capacity: count + 1)
        for number in 0..<count {
            index[number] = source.position
            do { try source.skipValue(shapes) } catch {
                index.deallocate()
                throw error
            }
        }
        index[count] = source.position
        s.pointee.frame.index = index
    }

    func contains(located key: String) -> Bool {
        state.pointee.frame.layout == .keyed && position(of: StoredKey.escaped(key)) != nil
    }

    func contains(stored key: String) -> Bool {
        state.pointee.frame.layout == .keyed && position(of: key) != nil
    }

    /// The error for a key that is not there.
    @inline(never)
    func missing(_ key: String) -> ArchiveError {
        let frame = state.pointee.frame
        let isSequential =
            frame.layout == .keyed && frame.keyCount > 0 && StoredKey.position(frame.keys[0]) != nil
        var error = ArchiveError(
            .missingKey, isSequential ? "no key was encoded here, only values in order" : "no value for this key")
        error.prepend(.key(key))
        return error
    }

    /// Completes an error's path; the record stays readable, whatever the failed value left behind.
    @inline(never)
    func failed(_ error: any Error, _ key: String) -> ArchiveError { failed(error, at: .key(key)) }

    @inline(never)
    func failed(_ error: any Error, at step: ArchiveError.Step) -> ArchiveError {
        try? makeIndex()
        return ArchiveError.wrapping(error, at: step)
    }

    // MARK: Opening

    /// Opens a shape's values at the source's position.
    @inline(__always)
    func openShape(_ shape: Unmanaged<Shape>) throws {
        let s = state
        s.pointee.frame.shape = shape
        s.pointee.frame.layout = .keyed
        s.pointee.frame.start = s.pointee.frame.source.position
        let isExplicit = try shape._withUnsafeGuaranteedRef { shape in
            guard shape.keyCount <= s.pointee.frame.source.remaining else { throw ByteSource.truncated() }
            s.pointee.frame.keys = shape.keys
            s.pointee.frame.keyCount = shape.keyCount
            return shape.layout == .explicit
        }
        if isExplicit { try openExplicit() }
    }

    /// Opens a record with its keys inline: they and the places of their values are collected first.
    @inline(never)
    private func openExplicit() throws {
        let s = state
        let count = try s.pointee.frame.source.count(eachAtLeast: 2, limit: limits.collection, "keys")
        let extras = FrameExtras()
        s.pointee.frame.extras = Unmanaged.passRetained(extras)
        let keys = UnsafeMutablePointer<String>.allocate(capacity: max(count, 1))
        extras.keys = keys
        let index = UnsafeMutablePointer<Int>.allocate(capacity: count + 1)
        s.pointee.frame.index = index
        for number in 0..<count {
            let key = try s.pointee.frame.source.stringValue(limits)
            (keys + number).initialize(to: key)
            extras.keyCount += 1
            extras.positions[key] = number
            index[number] = s.pointee.frame.source.position
            try s.pointee.frame.source.skipValue(shapes)
        }
        guard extras.positions.count == count else { throw ArchiveError(.corrupt, "a key stands twice in a value") }
        index[count] = s.pointee.frame.source.position
        s.pointee.frame.keys = UnsafePointer(keys)
        s.pointee.frame.keyCount = count
    }

    /// Opens a dictionary whose keys are strings as a record: other archivers have no records.
    func openMap() throws {
        let s = state
        let count = try s.pointee.frame.source.count(eachAtLeast: 2, limit: limits.collection, "keys")
        s.pointee.frame.layout = .keyed
        let extras = FrameExtras()
        s.pointee.frame.extras?.release()
        s.pointee.frame.extras = Unmanaged.passRetained(extras)
        let keys = UnsafeMutablePointer<String>.allocate(capacity: max(count, 1))
        extras.keys = keys
        let index = UnsafeMutablePointer<Int>.allocate(capacity: count + 1)
        s.pointee.frame.index?.deallocate()
        s.pointee.frame.index = index
        for number in 0..<count {
            let key = StoredKey.escaped(try s.pointee.frame.source.stringValue(limits))
            (keys + number).initialize(to: key)
            extras.keyCount += 1
            extras.positions[key] = number
            index[number] = s.pointee.frame.source.position
            try s.pointee.frame.source.skipValue(shapes)
        }
        guard extras.positions.count == count else { throw ArchiveError(.corrupt, "a key stands twice in a value") }
        index[count] = s.pointee.frame.source.position
        s.pointee.frame.keys = UnsafePointer(keys)
        s.pointee.frame.keyCount = count
    }

    /// The shape whose number comes next.
    @inline(__always)
    func readShape(_ source: inout ByteSource) throws -> (shape: Unmanaged<Shape>, number: Int) {
        let number = Int(try source.fixed(UInt16.self))
        guard number < state.pointee.shapeCount else { throw noSuchShape() }
        return (state.pointee.shapes[number].shape, number)
    }

    @inline(never)
    private func noSuchShape() -> ArchiveError { ArchiveError(.corrupt, "a shape that is not in the archive") }

    // MARK: Closing

    @inline(__always)
    func dispose(_ frame: inout DecoderFrame) {
        if let index = frame.index {
            index.deallocate()
            frame.index = nil
        }
        if let extras = frame.extras {
            extras.release()
            frame.extras = nil
        }
    }

    /// Where the value of the current frame ends.
    func endOfFrame() throws -> Int {
        let s = state
        switch s.pointee.frame.layout {
        case .unopened:
            var source = s.pointee.frame.source
            source.position = s.pointee.frame.start
            try source.skipValue(shapes)
            return source.position
        case .keyed:
            if let index = s.pointee.frame.index { return index[s.pointee.frame.keyCount] }
            var source = s.pointee.frame.source
            for _ in s.pointee.frame.cursor..<s.pointee.frame.keyCount { try source.skipValue(shapes) }
            return source.position
        case .list:
            if let end = s.pointee.frame.index?[0] { return end }
            var source = s.pointee.frame.source
            for _ in s.pointee.frame.cursor..<s.pointee.frame.keyCount { try source.skipValue(shapes) }
            return source.position
        case .closed, .single:
            return s.pointee.frame.source.position
        }
    }

    /// Refuses bytes behind the open values if it is known where these end.
    ///
    /// That is where all were read. To find the end of those that were not is not worth going over them: nobody asked for
    /// them.
    @inline(never)
    func checkEnd() throws {
        let s = state
        let end: Int
        switch s.pointee.frame.layout {
        case .keyed:
            // Nothing was asked of a single value.
            if s.pointee.frame.shape?.takeUnretainedValue().layout == .single { return }
            if let index = s.pointee.frame.index {
                end = index[s.pointee.frame.keyCount]
            } else {
                guard s.pointee.frame.cursor == s.pointee.frame.keyCount else { return }
                end = s.pointee.frame.source.position
            }
        case .list:
            // With an index the elements were read from elsewhere.
            guard s.pointee.frame.index == nil, s.pointee.frame.cursor == s.pointee.frame.keyCount else { return }
            end = s.pointee.frame.source.position
        case .single: end = s.pointee.frame.source.position
        case .closed, .unopened: return
        }
        guard end == s.pointee.frame.source.end else { throw ByteSource.leftOver() }
    }

    // MARK: Values of types that code themselves

    func readCodable<T: Decodable>(_ type: T.Type) throws -> T {
        let s = state
        guard s.pointee.depth < deepest else {
            throw ArchiveError(.limit, "values nested deeper than \(limits.depth)")
        }
        let outer = s.pointee.frame
        s.pointee.depth &+= 1
        s.pointee.serials &+= 1
        s.pointee.frame = DecoderFrame(
            source: outer.source, start: outer.source.position, serial: s.pointee.serials, height: outer.height,
            object: outer.object, layout: .unopened)
        do {
            let value = try T(from: ArchiveValueDecoder(coder: self, serial: s.pointee.serials, detached: nil))
            let end = try endOfFrame()
            closeFrame(outer)
            s.pointee.frame.source.position = end
            return value
        } catch {
            closeFrame(outer)
            throw error
        }
    }

    /// Goes back to the frame around the current one.
    @inline(__always)
    func closeFrame(_ outer: DecoderFrame) {
        let s = state
        let height = s.pointee.frame.height
        dispose(&s.pointee.frame)
        s.pointee.frame = outer
        s.pointee.frame.height = height
        s.pointee.depth &-= 1
    }
}
