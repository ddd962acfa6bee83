/// Walks values as `GraphReader` does, without making them: values that pass here cannot fail there.
///
/// Recursion follows only values inside one object, whose depth is limited.
struct GraphCheck {
    let shapes: [Shape]
    let objectCount: Int
    let limits: ArchiveLimits
    /// The number of objects by reference; nil where there can be none.
    private let externalCount: Int?
    private var nesting: Nesting

    /// - Parameter bytes: The size of the archive.
    init(shapes: [Shape], objectCount: Int, limits: ArchiveLimits, bytes: Int, externalCount: Int? = nil) {
        self.shapes = shapes
        self.objectCount = objectCount
        self.limits = limits
        self.externalCount = externalCount
        nesting = GraphReader.nesting(limits, bytes: bytes)
    }

    /// How many levels the values had that were nested deepest.
    var deepestMet: Int { nesting.deepestMet }

    /// Checks the values at the top, which are one record.
    mutating func roots(_ source: ByteSource) throws {
        var source = source
        let tag = try source.byte()
        guard tag == Tag.record else { throw ArchiveError(.corrupt, "the archive has no keys") }
        try container(tag, &source)
        try source.expectEnd()
    }

    /// Checks the bodies of all objects.
    ///
    /// One tight loop: what it does not know at a glance it leaves to `object`.
    mutating func objects(_ bodies: BodyTable) throws {
        var bodies = bodies
        var known = -1
        var keyCount = 0
        for number in 0..<bodies.count {
            let body = bodies.body(number)
            var source = body
            let shape = Int(try source.fixed(UInt16.self))
            if shape != known {
                known = -1
                guard shape < shapes.count, shapes[shape].kind == .object, shapes[shape].layout == .keyed else {
                    try object(number, body)
                    continue
                }
                known = shape
                keyCount = shapes[shape].keyCount
            }
            var left = keyCount
            while left > 0, source.skipShortText() { left &-= 1 }
            if left > 0 || source.remaining > 0 { try object(number, body) }
        }
    }

    /// Checks the body of an object.
    mutating func object(_ number: Int, _ body: ByteSource) throws {
        var body = body
        let shape = try body.shape(.object, shapes)
        do {
            try record(shape, &body)
            try body.expectEnd()
        } catch {
            throw ArchiveError.wrapping(error, at: .index(number))
        }
    }

    private mutating func record(_ shape: Shape, _ source: inout ByteSource) throws {
        switch shape.layout {
        case .single: try value(&source)
        case .keyed:
            guard shape.keyCount <= source.remaining else { throw ByteSource.truncated() }
            try values(shape.keyCount, &source)
        case .explicit:
            let count = try source.count(eachAtLeast: 2, limit: limits.collection, "keys")
            var keys: Set<String> = []
            for _ in 0..<count {
                guard keys.insert(try source.stringValue(limits)).inserted else {
                    throw ArchiveError(.corrupt, "a key occurs twice in a value")
                }
                try value(&source)
            }
        }
    }

    private mutating func values(_ count: Int, _ source: inout ByteSource) throws {
        for _ in 0..<count { try value(&source) }
    }

    /// Checks one value, and moves past it.
    mutating func value(_ source: inout ByteSource) throws {
        let tag = try source.byte()
        switch tag {
        case 0...0x7F, Tag.none, Tag.isFalse, Tag.isTrue: break
        case Tag.firstString...Tag.lastString: try source.skipText(Int(tag & 0x3F))
        case Tag.some, Tag.list, Tag.set, Tag.map, Tag.record: try container(tag, &source)
        default: try leaf(tag, &source)
        }
    }

    private mutating func container(_ tag: UInt8, _ source: inout ByteSource) throws {
        let isSegmentFull = try nesting.enter()
        defer { nesting.leave() }
        if isSegmentFull { return try StackSegment.run { try content(tag, &source) } }
        try content(tag, &source)
    }

    private mutating func content(_ tag: UInt8, _ source: inout ByteSource) throws {
        switch tag {
        case Tag.list, Tag.set:
            try values(try source.elementCount(limits), &source)
        case Tag.map:
            try values(2 * (try source.pairCount(limits)), &source)
        case Tag.record: try record(try source.shape(.record, shapes), &source)
        default: try value(&source)
        }
    }

    private func leaf(_ tag: UInt8, _ source: inout ByteSource) throws {
        switch tag {
        case Tag.integer, Tag.unsigned: _ = try source.varint()
        case Tag.string:
            source.seek(to: source.position - 1)
            try source.skipString(limits)
        case Tag.float: try source.advance(4)
        case Tag.double, Tag.date: try source.advance(8)
        case Tag.int128, Tag.uint128, Tag.uuid: try source.advance(16)
        case Tag.bytes: try source.advance(try source.length())
        case Tag.url:
            try source.skipString(limits)
            var next = source
            if try next.byte() == Tag.none { source = next } else { try source.skipString(limits) }
        case Tag.decimal: _ = try source.decimal(limits)
        case Tag.packed:
            let kind = try source.packedKind()
            try source.advance(try source.packedCount(kind) * kind.width)
        default: try references(tag, &source)
        }
    }

    private func references(_ tag: UInt8, _ source: inout ByteSource) throws {
        switch tag {
        case Tag.reference: try reference(try source.varint())
        case Tag.conditional:
            let number = try source.fixed(UInt32.self)
            if number != .max { try reference(UInt64(number)) }
        case Tag.references:
            var expected: Int64 = 0
            for _ in 0..<(try source.elementCount(limits)) {
                let number = expected &+ (try source.zigzag())
                try reference(UInt64(bitPattern: number))
                expected = number &+ 1
            }
        case Tag.external:
            guard let externalCount, externalCount > 0 else {
                throw ArchiveError(.unsupported, "objects by reference can only be sent over a connection")
            }
            guard try source.varint() < UInt64(externalCount) else {
                throw ArchiveError(.corrupt, "an object by reference that is not in the table")
            }
        default: throw ArchiveError(.corrupt, "an unknown tag")
        }
    }

    @inline(__always)
    private func reference(_ number: UInt64) throws {
        guard number < UInt64(objectCount) else { throw GraphReader.noSuchObject() }
    }
}

extension ByteSource {
    /// Reads the number of a shape, which must be of this kind.
    mutating func shape(_ kind: Shape.Kind, _ shapes: [Shape]) throws -> Shape {
        let number = Int(try fixed(UInt16.self))
        guard number < shapes.count else { throw ArchiveError(.corrupt, "a shape that is not in the archive") }
        let shape = shapes[number]
        guard shape.kind == kind else {
            throw ArchiveError(
                .corrupt,
                kind == .object ? "an object with the shape of a value" : "a value with the shape of an object")
        }
        return shape
    }
}
