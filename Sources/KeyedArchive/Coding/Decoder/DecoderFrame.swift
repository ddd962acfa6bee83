/// An open object, record, list or value, and how far it has been read.
struct DecoderFrame {
    enum Layout: UInt8 {
        /// Nothing can be read by key.
        case closed
        /// A value whose type has not asked for a container yet.
        case unopened
        case keyed
        case list
        /// A value read without container.
        case single
    }

    /// Where bytes are read, usually in the archive.
    var source: ByteSource
    private(set) var keys: UnsafePointer<String> = EncoderScope.noKeys
    /// Keys of a record, or elements of a list.
    private(set) var count = 0
    /// Keys or elements read in order.
    private(set) var cursor = 0
    /// Where the value begins (unopened), or its first key's value (keyed).
    private(set) var start: Int
    /// Where each key's value begins, and where the last one ends; made when keys are not read in order.
    ///
    /// For a rewritten list, only the end.
    private var index: UnsafeMutablePointer<Int>?
    private(set) var shape: Unmanaged<Shape>?
    /// Retained by hand until `dispose()`: frames are copied often, and should not count references.
    private(set) var extras: Unmanaged<FrameExtras>?
    private(set) var serial: Int
    /// The height of the highest object referred to so far; see `ObjectDecoder+Chains`.
    var height: Int32 = 0
    private(set) var object: Int = -1
    var layout: Layout
    /// Whether the frame is the whole body of an object, which has no tag in front.
    private(set) var isBody = false
    /// Values decoded without key so far.
    var unkeyed = 0

    /// A frame in which nothing can be read by key: before an object's shape is known, or outside of any object.
    @inline(__always)
    init(closedAt source: ByteSource, serial: Int = 0, object: Int = -1) {
        self.source = source
        start = source.position
        self.serial = serial
        self.object = object
        layout = .closed
    }

    /// A frame for the value that comes next in `outer`.
    @inline(__always)
    init(valueIn outer: DecoderFrame, at source: ByteSource? = nil, serial: Int, height: Int32 = 0) {
        self.source = source ?? outer.source
        start = self.source.position
        self.serial = serial
        self.height = height
        object = outer.object
        layout = .unopened
    }

    /// Frees what belongs to the frame.
    @inline(__always)
    mutating func dispose() {
        if let index {
            index.deallocate()
            self.index = nil
        }
        if let extras {
            // Inline keys are freed with them.
            keys = EncoderScope.noKeys
            count = 0
            cursor = 0
            extras.release()
            self.extras = nil
        }
    }

    // MARK: Keys

    /// Moves to a key's value if the key comes next; returns whether it does.
    @inline(__always)
    mutating func takeKey(_ key: String) -> Bool {
        let cursor = cursor
        guard cursor < count && keys[cursor] == key && index == nil else { return false }
        self.cursor = cursor &+ 1
        return true
    }

    /// The value of the key that comes next if it is an integer below 128.
    ///
    /// Take it with `takeSmall`.
    @inline(__always)
    func nextSmall(_ key: @autoclosure () -> String) -> UInt8? {
        guard index == nil, cursor < count, layout == .keyed, let tag = source.next, tag < 0x80,
            keys[cursor] == key()
        else { return nil }
        return tag
    }

    /// Moves past what `nextSmall` returned.
    @inline(__always)
    mutating func takeSmall() {
        cursor &+= 1
        source.seek(to: source.position &+ 1)
    }

    /// Lets the key that was moved to last come next again; its value was not read.
    mutating func untake() {
        if index == nil { cursor &-= 1 }
    }

    /// Where the first element of the open list begins.
    var firstElement: Int {
        get throws {
            // Elements that are rewritten begin with their memory.
            if extras?.takeUnretainedValue().original != nil { return 0 }
            var source = source.at(start)
            try source.advance(1)
            _ = try source.varint()
            return source.position
        }
    }

    /// Moves to an element of the open list.
    @inline(__always)
    mutating func move(toElement element: Int, at position: Int) {
        cursor = element
        source.seek(to: position)
    }

    /// Counts an element or key as read.
    @inline(__always)
    mutating func advance() { cursor &+= 1 }

    /// The keys in their stored form.
    var storedKeys: UnsafeBufferPointer<String> { UnsafeBufferPointer(start: keys, count: count) }

    /// The position of a key in its stored form; nil if it is not there.
    func position(of key: String) -> Int? {
        guard layout == .keyed else { return nil }
        if let extras { return extras.takeUnretainedValue().positions[key] }
        return shape?.takeUnretainedValue().position(of: key)
    }

    /// Moves to the value of a key in its stored form; false if there is none.
    @inline(__always)
    mutating func seek(toKey key: String, _ shapes: @autoclosure () -> [Shape]) throws -> Bool {
        guard let position = position(of: key) else { return false }
        if index == nil { try makeIndex(shapes()) }
        guard let index else { return false }
        source.seek(to: index[position])
        // Only for the coding path: with an index, nothing is read in order.
        cursor = position &+ 1
        return true
    }

    /// Finds where all values of the open record begin.
    mutating func makeIndex(_ shapes: [Shape]) throws {
        guard index == nil else { return }
        var source = source.at(start)
        let index = UnsafeMutablePointer<Int>.allocate(capacity: count + 1)
        for number in 0..<count {
            index[number] = source.position
            do { try source.skipValue(shapes) } catch {
                index.deallocate()
                throw error
            }
        }
        index[count] = source.position
        self.index = index
    }

    // MARK: Opening

    /// Whether the frame is a body with keys, which has no tag in front.
    var isKeyedBody: Bool { isBody && shape?.takeUnretainedValue().layout != .single }

    /// A frame for the same value, at its beginning.
    func unopened(serial: Int) -> DecoderFrame {
        var begin = extras?.takeUnretainedValue().original ?? source.at(start)
        // A record was opened behind its tag and the number of its shape.
        if layout == .keyed, !isBody, shape != nil { begin.seek(to: start - 3) }
        var result = DecoderFrame(valueIn: self, at: begin, serial: serial, height: height)
        if isKeyedBody, let shape { result.openBody(shape) }
        return result
    }

    /// Goes back to where the value begins.
    @inline(__always)
    mutating func rewind() { source.seek(to: start) }

    /// Opens the body of an object whose class decodes itself as a `Codable` value.
    mutating func openBody(_ shape: Unmanaged<Shape>) {
        self.shape = shape
        layout = .unopened
        isBody = true
    }

    /// Opens the values of an object if the frame was used for one of the same shape, whose keys it still has.
    ///
    /// - Returns: Whether it did; otherwise the frame is as before.
    @inline(__always)
    mutating func reopen(_ shape: Unmanaged<Shape>, at source: ByteSource, serial: Int, object: Int) -> Bool {
        guard let last = self.shape, last.toOpaque() == shape.toOpaque(), layout == .keyed, !isBody, index == nil,
            extras == nil, keys == shape._withUnsafeGuaranteedRef({ $0.keys }), count <= source.remaining
        else { return false }
        self.source = source
        self.serial = serial
        self.object = object
        start = source.position
        cursor = 0
        height = 0
        unkeyed = 0
        return true
    }

    /// Opens a shape's values at the source's position; returns whether the keys are inline, for `openInline`.
    @inline(__always)
    mutating func openShape(_ shape: Unmanaged<Shape>) throws -> Bool {
        try shape._withUnsafeGuaranteedRef { definition in
            if definition.layout == .explicit { return true }
            guard definition.keyCount <= source.remaining else { throw ByteSource.truncated() }
            self.shape = shape
            layout = .keyed
            start = source.position
            keys = definition.keys
            count = definition.keyCount
            return false
        }
    }

    /// Opens a record with inline keys; collects the keys and the positions of their values first.
    ///
    /// If that fails, the frame is not opened: a type may catch the error and go on.
    ///
    /// - Parameters:
    ///   - shape: The record's shape; nil for a dictionary, which may have integers as keys.
    ///   - stored: Makes the stored form of a key.
    @inline(never)
    mutating func openInline(
        _ shape: Unmanaged<Shape>?, _ shapes: [Shape], _ limits: ArchiveLimits, stored: (String) -> String
    ) throws {
        let values = source.position
        let count = try source.count(eachAtLeast: 2, limit: limits.collection, "keys")
        let extras = FrameExtras()
        let keys = UnsafeMutablePointer<String>.allocate(capacity: max(count, 1))
        extras.keys = keys
        let index = UnsafeMutablePointer<Int>.allocate(capacity: count + 1)
        do {
            for number in 0..<count {
                let key = stored(try shape == nil ? source.keyText(limits) : source.stringValue(limits))
                (keys + number).initialize(to: key)
                extras.keyCount += 1
                extras.positions[key] = number
                index[number] = source.position
                try source.skipValue(shapes)
            }
            guard extras.positions.count == count else { throw ArchiveError(.corrupt, "a key occurs twice in a value") }
        } catch {
            index.deallocate()
            throw error
        }
        index[count] = source.position
        dispose()
        if let shape {
            self.shape = shape
            start = values
        }
        layout = .keyed
        self.extras = Unmanaged.passRetained(extras)
        self.index = index
        self.keys = UnsafePointer(keys)
        self.count = count
    }

    /// Opens a list of `count` elements at the source's position.
    mutating func openList(_ count: Int) {
        layout = .list
        self.count = count
        cursor = 0
    }

    /// Rewrites a packed list as ordinary values and continues reading there; returns the element count.
    mutating func rewrite(_ tag: UInt8, _ limits: ArchiveLimits) throws -> Int {
        var sink = ByteSink()
        let extras = FrameExtras()
        extras.original = source.at(start)
        defer {
            extras.scratch = sink
            self.extras?.release()
            self.extras = Unmanaged.passRetained(extras)
        }
        let count = try source.rewriteElements(tag, limits, into: &sink)
        let end = UnsafeMutablePointer<Int>.allocate(capacity: 1)
        end.initialize(to: source.position)
        index?.deallocate()
        index = end
        source = ByteSource(base: sink.bytes.baseAddress ?? source.base, position: 0, end: sink.count)
        return count
    }

    // MARK: Closing

    /// The end of the value, however much of it was read.
    @inline(__always)
    func end(_ shapes: @autoclosure () -> [Shape]) throws -> Int {
        switch layout {
        case .closed, .single: return source.position
        case .unopened:
            var source = source.at(start)
            try source.skipValue(shapes())
            return source.position
        case .keyed, .list:
            if let index { return layout == .keyed ? index[count] : index[0] }
            var source = source
            for _ in cursor..<count { try source.skipValue(shapes()) }
            return source.position
        }
    }

    /// Throws if bytes follow the values, as far as that is known.
    ///
    /// The end is known only if all values were read. Skipping unread values just to find it is not worth the time.
    @inline(never)
    func checkEnd() throws {
        let end: Int
        switch layout {
        case .closed, .unopened: return
        case .single: end = source.position
        case .keyed:
            // A body with a single value has no keys: nothing was read.
            if shape?.takeUnretainedValue().layout == .single { return }
            if let index {
                end = index[count]
            } else {
                guard cursor == count else { return }
                end = source.position
            }
        case .list:
            // With an index, the elements were read from a rewritten copy.
            guard index == nil, cursor == count else { return }
            end = source.position
        }
        guard end == source.end else { throw ByteSource.leftOver() }
    }
}

/// State that only a few frames need.
final class FrameExtras {
    /// Inline keys.
    var keys: UnsafeMutablePointer<String>?
    var keyCount = 0
    var positions: [String: Int] = [:]
    /// Where the value begins, if its elements are read from `scratch`.
    var original: ByteSource?
    /// Values written out anew from a packed list.
    var scratch: ByteSink?

    deinit {
        keys?.deinitialize(count: keyCount)
        keys?.deallocate()
        scratch?.deallocate()
    }
}
