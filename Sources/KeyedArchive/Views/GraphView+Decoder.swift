extension GraphView {
    /// Makes a view of the next value of a decoder, or of the object that it refers to.
    init(next coder: ObjectDecoder) throws {
        guard coder.foreign == nil else {
            throw ArchiveError(.unsupported, "a view of an archive in Apple's layout")
        }
        guard coder.notes.list == nil else {
            // What it decodes later would not be checked.
            throw ArchiveError(.unsupported, "a view under a list of classes")
        }
        if let number = try Self.takeReference(coder) {
            let graph = try GraphBytes.shared(by: coder)
            let place = try graph.object(number)
            try graph.expect(Value.self, place.shape)
            self.init(graph, place)
            return
        }
        if Value.self is AnyClass, Value.self is any _ExternallyCodable.Type == false {
            throw coder.mismatch(unqualifiedName(of: Value.self), Value.self)
        }
        try self.init(value: coder)
    }

    /// Consumes a reference to an object if an instance of a class is expected, and returns the object's number.
    private static func takeReference(_ coder: ObjectDecoder) throws -> Int? {
        var source = coder.input
        let tag = source.next
        guard Value.self is AnyClass, tag == Tag.reference || tag == Tag.conditional else { return nil }
        try source.advance(1)
        let number = tag == Tag.reference ? try source.varint() : UInt64(try source.fixed(UInt32.self))
        if tag == Tag.conditional, number == UInt32.max { return nil }
        guard number < UInt64(coder.state.objectCount) else { throw coder.noSuchObject() }
        coder.input = source
        return Int(number)
    }

    private init(value coder: ObjectDecoder) throws {
        var source = coder.input
        if source.base == GraphBytes.base(of: coder) {
            let graph = try GraphBytes.shared(by: coder)
            let start = source.position
            try graph.check(&source)
            coder.input.seek(to: source.position)
            var again = source.at(start)
            self.init(graph, try graph.value(&again))
            return
        }
        // An element of a rewritten list, or the value of an archive without objects: few bytes, which are copied.
        let start = source.position
        try source.skipValue(coder.shapes)
        let value = UnsafeRawBufferPointer(start: source.base + start, count: source.position - start)
        let graph = try GraphBytes(value: value, coder)
        coder.input.seek(to: source.position)
        var content = graph.values
        try graph.check(&content)
        var again = graph.values
        self.init(graph, try graph.value(&again))
    }
}

extension GraphBytes {
    /// The bytes that the views of a decoder's archive share.
    fileprivate static func shared(by coder: ObjectDecoder) throws -> GraphBytes {
        if let graph = known(by: coder) { return graph }
        let graph = try GraphBytes(of: coder)
        coder.notes.graph = graph
        return graph
    }

    /// The shared bytes, if a view was made before.
    private static func known(by coder: ObjectDecoder) -> GraphBytes? {
        coder.notes.graph.map { unsafeDowncast($0, to: GraphBytes.self) }
    }

    /// Where the decoder's archive begins.
    fileprivate static func base(of coder: ObjectDecoder) -> UnsafeRawPointer? {
        (known(by: coder)?.bytes ?? coder.state.bodies.archive).baseAddress
    }

    /// Takes over the archive of a decoder, or a copy if nothing keeps its memory.
    private convenience init(of coder: ObjectDecoder) throws {
        let archive = coder.state.bodies.archive
        if let owner = coder.owner {
            // What is lent from now on would be changed in place under the views.
            coder.handsOutSlices = false
            let bodies = coder.state.bodies
            try self.init(archive, owner, known: bodies, of: coder)
            // The decoder keeps the new owner of the table.
            coder.state.bodies = bodies.borrowed
        } else {
            let copy = ArchiveBytes([UInt8](archive))
            try self.init(copy.bytes, copy, of: coder)
        }
    }

    private convenience init(
        _ bytes: UnsafeRawBufferPointer, _ owner: AnyObject, known: BodyTable? = nil, of coder: ObjectDecoder
    ) throws {
        try self.init(
            bytes, owner: owner, known: known, shapes: coder.shapes, externals: coder.externals, limits: coder.limits,
            classes: coder.classes, codingOwner: coder.codingOwner, lent: coder.notes.slices as AnyObject)
    }

    /// A copy of one value that refers to no object.
    fileprivate convenience init(value: UnsafeRawBufferPointer, _ coder: ObjectDecoder) throws {
        var sink = ByteSink()
        defer { sink.deallocate() }
        sink.varint(0)
        sink.varint(UInt64(value.count))
        sink.append(value)
        let copy = ArchiveBytes([UInt8](sink.bytes))
        try self.init(copy.bytes, copy, of: coder)
    }
}
