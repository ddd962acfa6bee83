import Synchronization

/// The bytes of a graph that was checked as a whole, with all that is needed to read from them.
///
/// The views of a message share one. The check is made once, when the first view is decoded, so that a breach of a limit or
/// a rule of the format is found before user code sees a view. Reading checks bounds again: the bytes may be those of a file,
/// which another process can change.
// Immutable after `init`, except for the atomics. The table of bodies is only asked in a way that does not change it.
@usableFromInline
final class GraphBytes: @unchecked Sendable {
    /// The body of the archive.
    let bytes: UnsafeRawBufferPointer
    let limits: ArchiveLimits
    let classes: ClassRegistry
    private let shapes: [Shape]
    /// The same shapes, to be used without counting references.
    private let table: UnsafeMutablePointer<Unmanaged<Shape>>
    private let bodies: BodyTable
    /// The values at the top, if the table of bodies was made here.
    let values: ByteSource
    private let externals: [AnyObject]
    /// Keeps the memory of `bytes`.
    private let owner: AnyObject
    /// Counts the memory as kept.
    private let receipt: AnyObject?
    /// Slices of the bytes that were handed out as `Data`.
    ///
    /// A `Data` with a unique reference is changed in place. This second reference makes a change copy the bytes.
    private let lent: AnyObject?
    private let codingOwner: AnyObject?
    /// The classes last found to fit even and odd shapes: the address of the metatype, and the shape.
    private let fittingEven = Atomic<UInt>(0)
    private let fittingOdd = Atomic<UInt>(0)

    /// Checks the objects of a graph.
    ///
    /// - Parameters:
    ///   - bytes: The body of an archive.
    ///   - owner: Keeps the bytes in place; they do not change any more.
    ///   - known: The table of these bytes, which this object frees from then on, with the values at the top; nil to make it.
    init(
        _ bytes: UnsafeRawBufferPointer, owner: AnyObject, known: BodyTable? = nil, shapes: [Shape],
        externals: [AnyObject], limits: ArchiveLimits, classes: ClassRegistry, codingOwner: AnyObject?, lent: AnyObject?
    ) throws {
        receipt = try (codingOwner as? any MessageKeeper)?.keep(bytes: bytes.count)
        var source = ByteSource(bytes)
        let bodies = try known ?? BodyTable(&source, limits: limits)
        do {
            var check = GraphCheck(
                shapes: shapes, objectCount: bodies.count, limits: limits, bytes: bytes.count,
                externalCount: externals.count)
            try check.objects(bodies.borrowed)
        } catch {
            if known == nil { bodies.deallocate() }
            throw error
        }
        values = source
        table = .allocate(capacity: max(shapes.count, 1))
        for (number, shape) in shapes.enumerated() {
            (table + number).initialize(to: Unmanaged.passUnretained(shape))
        }
        self.bytes = bytes
        self.owner = owner
        self.shapes = shapes
        self.externals = externals
        self.limits = limits
        self.classes = classes
        self.codingOwner = codingOwner
        self.lent = lent
        self.bodies = bodies
    }

    deinit {
        bodies.deallocate()
        table.deallocate()
    }

    /// The number of objects.
    var objectCount: Int { bodies.count }

    /// A table of the objects' bodies to go through; valid as long as this object.
    var sequentialBodies: BodyTable { bodies.borrowed }

    /// The bytes from a position on.
    @inline(__always)
    func source(_ start: Int, _ end: Int) -> ByteSource {
        ByteSource(base: bytes.baseAddress ?? ByteSource(bytes).base, position: start, end: end)
    }

    /// Calls `body` with a shape, without counting a reference to it.
    @inline(__always)
    func withShape<R>(_ number: UInt16, _ body: (Shape) throws -> R) rethrows -> R {
        try table[Int(number)]._withUnsafeGuaranteedRef(body)
    }

    // MARK: Places

    /// Checks the value at a source's position, and moves past it.
    func check(_ source: inout ByteSource) throws {
        var check = GraphCheck(
            shapes: shapes, objectCount: bodies.count, limits: limits, bytes: bytes.count,
            externalCount: externals.count)
        try check.value(&source)
    }

    /// Moves past a value.
    @inline(__always)
    func skip(_ source: inout ByteSource) throws {
        if source.skipShort() { return }
        try source.skipValue(shapes)
    }

    /// The place of an object.
    func object(_ number: Int) throws -> GraphPlace {
        guard number >= 0, number < bodies.count else { throw GraphReader.noSuchObject() }
        return try object(number, bodies.fixedBody(number))
    }

    /// The place of an object whose body was found.
    @inline(__always)
    func object(_ number: Int, _ body: ByteSource) throws -> GraphPlace {
        var body = body
        let shape = try body.fixed(UInt16.self)
        guard Int(shape) < shapes.count else { throw Self.noSuchShape() }
        return GraphPlace(
            .object, shape: shape, number: UInt32(truncatingIfNeeded: number), start: body.position, end: body.end)
    }

    /// The place of the object that the value at a source's position refers to; moves past it.
    func referred(_ source: inout ByteSource) throws -> GraphPlace {
        switch try source.byte() {
        case Tag.reference: return try object(Int(truncatingIfNeeded: try source.varint()))
        case Tag.conditional: return try object(Int(try source.fixed(UInt32.self)))
        case let tag: throw ArchiveError(.typeMismatch, "found \(Tag.describe(tag))")
        }
    }

    /// The place of the value at a source's position, which is no reference to an object; moves past it.
    func value(_ source: inout ByteSource) throws -> GraphPlace {
        let start = source.position
        guard source.take(Tag.record) else {
            try skip(&source)
            return GraphPlace(.value, start: start, end: source.position)
        }
        let shape = try source.fixed(UInt16.self)
        guard Int(shape) < shapes.count else { throw Self.noSuchShape() }
        let content = source.position
        source.seek(to: start)
        try source.skipValue(shapes)
        return GraphPlace(.record, shape: shape, start: content, end: source.position)
    }

    private static func noSuchShape() -> ArchiveError {
        ArchiveError(.corrupt, "a shape that is not in the archive")
    }

    // MARK: Classes

    /// Throws unless objects of a shape may stand where a class is expected.
    @inline(__always)
    func expect(_ type: Any.Type, _ shape: UInt16) throws {
        if !isKnown(type, shape) { try find(type, shape) }
    }

    /// Whether it was found before that objects of a shape may stand where a class is expected.
    @inline(__always)
    func isKnown(_ type: Any.Type, _ shape: UInt16) -> Bool {
        (shape & 1 == 0 ? fittingEven.load(ordering: .relaxed) : fittingOdd.load(ordering: .relaxed))
            == Self.entry(type, shape)
    }

    /// Addresses of metatypes have 48 bits.
    @inline(__always)
    private static func entry(_ type: Any.Type, _ shape: UInt16) -> UInt {
        UInt(bitPattern: ObjectIdentifier(type)) << 16 | UInt(shape)
    }

    @inline(never)
    private func find(_ type: Any.Type, _ shape: UInt16) throws {
        guard let expected = type as? any (AnyObject & Decodable).Type else {
            throw ArchiveError(.typeMismatch, "expected \(unqualifiedName(of: type)), found an object")
        }
        let name = shapes[Int(shape)].name
        guard classes.admits(name, as: expected) else {
            throw ArchiveError(
                .classNotAllowed, "expected \(classes.name(of: expected)), found an object of class \(name)")
        }
        let entry = Self.entry(type, shape)
        if shape & 1 == 0 {
            fittingEven.store(entry, ordering: .relaxed)
        } else {
            fittingOdd.store(entry, ordering: .relaxed)
        }
    }

    // MARK: Decoding

    /// Decodes the value at a source's position.
    ///
    /// Its objects are made anew each time.
    ///
    /// - Complexity: Linear in the size of the value; if there are objects in it, linear in the number of all objects.
    func decode<T: Decodable>(_ type: T.Type, _ source: ByteSource) throws -> T {
        var walk = source
        var hasObjects = false
        try walk.walkValue(shapes, conditional: { hasObjects = true }, { _ in hasObjects = true })
        let decoder = ObjectDecoder(limits: limits, classes: classes)
        decoder.codingOwner = codingOwner
        // No slices are handed out: the views read the same bytes.
        decoder.load(
            source, of: hasObjects ? bodies.borrowed : BodyTable(), owner: self, shapes: shapes,
            externals: externals, handsOutSlices: false)
        // Views in the value are views of this graph.
        decoder.notes.graph = self
        return try decoder.decodeTop(type)
    }

    /// Decodes an object.
    func decode<T: Decodable>(_ type: T.Type, object number: Int) throws -> T {
        var reference = ByteSink()
        defer { reference.deallocate() }
        reference.reference(UInt64(number))
        return try decode(type, ByteSource(reference.bytes))
    }
}

extension ClassRegistry {
    /// Whether objects with a class name may stand where a class is expected, as `ObjectDecoder` decides it.
    fileprivate func admits(_ name: String, as expected: any (AnyObject & Decodable).Type) -> Bool {
        if let renamed = renamed[name] { return renamed is any ObjectCoding.Type || isClass(renamed, expected) }
        if name == self.name(of: expected) { return true }
        if let expected = expected as? any ObjectCoding.Type, hasSubclass(name, expected) { return true }
        guard let allowed = allowed[name] else { return false }
        return allowed is any ObjectCoding.Type || isClass(allowed, expected)
    }

    private func isClass<T: AnyObject>(_ type: Any.Type, _ expected: T.Type) -> Bool { type is T.Type }

    private func hasSubclass(_ name: String, _ expected: any ObjectCoding.Type) -> Bool {
        var seen: Set<ObjectIdentifier> = []
        var waiting = expected.codingSubclasses
        while let type = waiting.popLast() {
            guard seen.insert(ObjectIdentifier(type)).inserted else { continue }
            if self.name(of: type) == name { return true }
            waiting += type.codingSubclasses
        }
        return false
    }
}
